// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gradient of every kind of score: features, tables, factors and terms get what the definition says, with queries and
// with keys in lanes.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

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
        most = off <= most ? most : off;  // also where it is not a number
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
    double most = std::max({difference(d_q, e_q), difference(d_k, e_k), difference(d_v, e_v)});
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        ((most = std::max(most, difference(std::get<N>(found), std::get<N>(expected)))), ...);
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

}  // namespace

TEST_CASE("a score of one product gives gradients to tables, terms and factors", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        auto const slopes = table(of, dice, n.heads);
        CHECK(worst(scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, of, slopes) < tolerance);
        CHECK(worst(scaled_dot | softcap(2.0) | softmax | weighted_sum, of) < tolerance);
        auto const caps = table(of, dice, n.heads);  // some below 0: not capped
        CHECK(worst(scaled_dot | softcap(param(caps)[head]) | causal | softmax | weighted_sum, of, caps) < tolerance);
        auto const bias = table(of, dice, n.heads, n.queries + n.keys);
        CHECK(worst(scaled_dot | rescore(score + param(bias)(head, q_idx - kv_idx + (n.keys - 1))) | softmax
                        | weighted_sum,
                    of, bias)
              < tolerance);
        CHECK(worst(scaled_dot | rescore(score + param(bias)(head, kv_idx - q_idx + (n.queries - 1))) | softmax
                        | weighted_sum,
                    of, bias)
              < tolerance);
        auto const full = table(of, dice, n.batch, n.heads, n.queries, n.keys);
        CHECK(worst(scaled_dot | rescore(score + param(full)(batch, head, q_idx, kv_idx)) | softmax | weighted_sum, of,
                    full)
              < tolerance);
        auto const shared = table(of, dice, n.queries, n.keys);
        CHECK(worst(scaled_dot | rescore(score * param(shared)(q_idx, kv_idx)) | causal | softmax | weighted_sum, of,
                    shared)
              < tolerance);
        auto const few = table(of, dice, index_t{3});
        CHECK(worst(scaled_dot | rescore(score + param(few)[abs(q_idx - kv_idx) % 3]) | softmax | weighted_sum, of, few)
              < tolerance);
    });
}

TEST_CASE("terms of a row and of a key have gradients, and so has what a product is multiplied by", "[driver]") {
    at_sizes<float>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        auto const w = table(of, dice, n.features), per_head = table(of, dice, n.heads);
        CHECK(worst(compare(param(per_head)[head] * sum(q * k)) | softmax | weighted_sum, of, per_head) < tolerance);
        CHECK(worst(compare(sum(q * k) * exp(sum(q * param(w)))) | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(sum(q * k) + sum(param(w) * k)) | softmax | weighted_sum, of, w) < tolerance);
        CHECK(worst(compare(tanh(sum(q * k) + sum(q * param(w)) * sum(tanh(k) * param(w)))) | causal | softmax
                        | weighted_sum,
                    of, w)
              < tolerance);
        auto const of_keys = table(of, dice, n.keys);
        CHECK(worst(compare(0.5 * sum(q * k)) | rescore(score * param(of_keys)[kv_idx]) | softmax | weighted_sum, of,
                    of_keys)
              < tolerance);
        auto const of_both = table(of, dice, n.heads, n.keys);
        CHECK(worst(compare(0.5 * sum(q * k)) | rescore(score * param(of_both)(head, kv_idx)) | softmax | weighted_sum,
                    of, of_both)
              < tolerance);
        CHECK(worst(scaled_dot | rescore(select(score > 0, score, param(per_head)[head] * score)) | softmax
                        | weighted_sum,
                    of, per_head)
              < tolerance);
        CHECK(worst(compare(sum(q * k, features(1, 4)) * param(per_head)[head]) | softmax | weighted_sum, of, per_head)
              < tolerance);
    });
}

TEST_CASE("gradients of scores are as exact as the type of a call", "[driver]") {
    at_sizes<double>([](auto const& of, testing::dice& dice, sizes const& n, double tolerance) {
        auto const caps = table(of, dice, n.heads);
        auto const shared = table(of, dice, n.queries, n.keys);
        CHECK(worst(scaled_dot | softcap(param(caps)[head]) | rescore(score * param(shared)(q_idx, kv_idx)) | causal
                        | softmax | weighted_sum,
                    of, caps, shared)
              < tolerance);
        CHECK(worst(compare(sum(exp(q) * k) * param(caps)[head] + sum(square(q - k)) * sum(tanh(k))) | softmax
                        | weighted_sum,
                    of, caps)
              < tolerance);
    });
}

TEST_CASE("gradients are the same whether that of a table is asked for or not", "[driver]") {
    testing::dice dice(61);
    sizes const n{1, 2, 2, 40, 50};
    operands<float> const of(dice, n);
    auto const bias = table(of, dice, n.batch, n.heads, n.queries, n.keys);  // of the type and rank of operands
    auto const a = scaled_dot | rescore(score * param(bias)(batch, head, q_idx, kv_idx)) | softmax | weighted_sum;
    tensor<float, 4> alone(of.query.extents), beside(of.query.extents), d_bias(bias.extents);
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, alone));
    gradient(a, of.query, of.key, of.value, of.d_result, grad(of.query, beside), grad(bias, d_bias));
    CHECK(alone.elements == beside.elements);
}
