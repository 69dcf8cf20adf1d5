// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of a score against the definition, at sizes that have queries and that have keys in lanes.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"
#include "support/worst.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

/// In a namespace of its own: other files of the folder have sizes and operands too.
namespace score_gradient_case {

using namespace fovea;

struct sizes {
    index_t batch, heads, key_heads, queries, keys, features = 6, value_features = 5;
};

/// The worst difference of a gradient from the definition, in multiples of its largest element.
template <class T, int Rank>
double difference(tensor<T, Rank> const& found, tensor<double, Rank> const& expected) {
    double most = 0, scale = 0.1;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        scale = std::max(scale, std::abs(expected.elements[i]));
        double const off = std::abs(static_cast<double>(found.elements[i]) - expected.elements[i]);
        most = worse(most, off);
    }
    return most / scale;
}

/// Operands, and the gradient of the result.
template <class T>
struct operands {
    tensor<T, 4> query, key, value, d_result;
    operands(testing::dice& dice, sizes const& n)
        : query(testing::random_tensor<T>(dice, extents_t<4>{n.batch, n.heads, n.queries, n.features})),
          key(testing::random_tensor<T>(dice, extents_t<4>{n.batch, n.key_heads, n.keys, n.features})),
          value(testing::random_tensor<T>(dice, extents_t<4>{n.batch, n.key_heads, n.keys, n.value_features})),
          d_result(testing::random_tensor<T>(dice, extents_t<4>{n.batch, n.heads, n.queries, n.value_features})) {}
};

/// The worst difference over queries, keys, values and tables.
template <class A, class T, class... Tables>
double worst(A const& a, operands<T> const& of, Tables const&... tables) {
    auto const& [q, k, v, d] = of;
    tensor<T, 4> d_q(q.extents), d_k(k.extents), d_v(v.extents);
    tensor<double, 4> e_q(q.extents), e_k(k.extents), e_v(v.extents);
    auto found = std::make_tuple(Tables(tables.extents)...);
    auto expected = std::make_tuple(
        tensor<double, static_cast<int>(std::tuple_size_v<decltype(tables.extents)>)>(tables.extents)...);
    std::apply(
        [&](auto&... each) {
            gradient(a, q, k, v, d, grad(q, d_q), grad(k, d_k), grad(v, d_v), grad(tables, each)...);
        },
        found);
    std::apply(
        [&](auto&... each) {
            reference::gradient(a, q, k, v, d, grad(q, e_q), grad(k, e_k), grad(v, e_v), grad(tables, each)...);
        },
        expected);
    double most = worse(difference(d_q, e_q), difference(d_k, e_k), difference(d_v, e_v));
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        ((most = worse(most, difference(std::get<N>(found), std::get<N>(expected)))), ...);
    }(std::index_sequence_for<Tables...>());
    return most;
}

/// Few and many queries, and sizes that fill no vector: keys and queries in lanes.
template <class T, class F>
void at_sizes(F const& check) {
    for (auto const& n :
         {sizes{1, 2, 2, 1, 9}, sizes{2, 4, 2, 7, 33}, sizes{2, 2, 1, 17, 40}, sizes{1, 4, 2, 49, 130}}) {
        CAPTURE(n.batch, n.heads, n.queries, n.keys);
        testing::dice dice(static_cast<unsigned>(n.queries * 1000 + n.keys));
        check(operands<T>(dice, n), dice, n, sizeof(T) == 4 ? 3e-5 : 1e-12);
    }
}
template <class T, class... Extents>
auto table(operands<T> const&, testing::dice& dice, Extents... extents) {
    return testing::random_tensor<T>(dice, extents_t<sizeof...(Extents)>{extents...});
}

/// Tables with an element for each pair: of each batch element and head, and of all.
template <class T>
void check_tables_of_pairs(operands<T> const& of, testing::dice& dice, sizes const& n, double tolerance) {
    using namespace fovea::placeholders;
    auto const full = table(of, dice, n.batch, n.heads, n.queries, n.keys);
    CHECK(
        worst(scaled_dot | rescore(score + param(full)(batch, head, q_idx, kv_idx)) | softmax | weighted_sum, of, full)
        < tolerance);
    auto const shared = table(of, dice, n.queries, n.keys);
    CHECK(
        worst(scaled_dot | rescore(score * param(shared)(q_idx, kv_idx)) | causal | softmax | weighted_sum, of, shared)
        < tolerance);
}

}  // namespace score_gradient_case
