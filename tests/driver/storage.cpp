// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands and results stored in fewer bits than they are computed in: the values are those of the widened operands.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The same numbers, stored in another type.
template <class To, class From, int Rank>
tensor<To, Rank> stored_as(tensor<From, Rank> const& x) {
    tensor<To, Rank> result(x.extents);
    for (std::size_t i = 0; i < x.elements.size(); ++i) result.elements[i] = static_cast<To>(x.elements[i]);
    return result;
}
template <class Element, int Rank>
tensor<float, Rank> widened(tensor<Element, Rank> const& x) {
    return stored_as<float>(x);
}

struct operands {
    testing::dice random{11};
    tensor<float, 4> query = testing::random_tensor<float, 4>(random, {2, 4, 37, 24}, 2);
    tensor<float, 4> key = testing::random_tensor<float, 4>(random, {2, 2, 45, 24}, 2);
    tensor<float, 4> value = testing::random_tensor<float, 4>(random, {2, 2, 45, 19}, 2);
};

/// Stored operands against widened ones: the result may differ by the rounding of the stored result alone.
template <class Q, class K, class V, class Out>
void check_storage(auto const& spec) {
    operands const all;
    auto const q = stored_as<Q>(all.query);
    auto const k = stored_as<K>(all.key);
    auto const v = stored_as<V>(all.value);
    extents_t<4> const extents{2, 4, 37, 19};
    tensor<Out, 4> got(extents);
    tensor<float, 4> expected(extents), by_definition(extents);
    attend(spec, q, k, v, got);
    attend(spec, widened(q), widened(k), widened(v), expected);
    CHECK(widened(got).elements == widened(stored_as<Out>(expected)).elements);
    reference::attend(spec, q, k, v, by_definition);
    testing::check_close<float, float>("result", by_definition.elements, expected.elements, {4e-6, 1e-5});
}

}  // namespace

TEST_CASE("bfloat16 operands and results", "[driver]") {
    check_storage<bfloat16, bfloat16, bfloat16, bfloat16>(scaled_dot | causal | softmax | weighted_sum);
}

TEST_CASE("float16 operands and results", "[driver]") {
    check_storage<float16, float16, float16, float16>(scaled_dot | softmax | weighted_sum);
    check_storage<float16, float16, float16, float16>(scaled_dot | hardmax | weighted_sum);
}

TEST_CASE("every operand may be stored in its own type", "[driver]") {
    check_storage<float, bfloat16, float16, float>(scaled_dot | softmax | weighted_sum);
    check_storage<bfloat16, float, std::int8_t, float16>(cosine | softmax | weighted_sum);
}

TEST_CASE("integers with a scale for each token", "[driver]") {
    operands const all;
    auto const k = stored_as<std::int8_t>(all.key), v = stored_as<std::int8_t>(all.value);
    testing::dice random(5);
    auto const key_scale = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 2, 45}, 0.1);
    auto const value_scale = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 2, 45}, 0.1);
    auto scaled_key = widened(k), scaled_value = widened(v);
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
            for (index_t j = 0; j < 45; ++j) {
                for (index_t c = 0; c < 24; ++c) scaled_key(b, h, j, c) *= key_scale(b, h, j);
                for (index_t c = 0; c < 19; ++c) scaled_value(b, h, j, c) *= value_scale(b, h, j);
            }
    tensor<float, 4> got({2, 4, 37, 19}), expected({2, 4, 37, 19});
    attend(scaled_dot | rescore(score * param(key_scale)(batch, head / 2, kv_idx)) | softmax
               | reweight(weight * param(value_scale)(batch, head / 2, kv_idx)) | weighted_sum,
           all.query, k, v, got);
    reference::attend(scaled_dot | softmax | weighted_sum, all.query, scaled_key, scaled_value, expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
}

TEST_CASE("graphs with values in 16 bits", "[driver]") {
    std::vector<graph::edge> const edges{{0, 1}, {0, 2}, {1, 0}, {2, 2}};
    graph const g(3, edges);
    tensor<bfloat16, 2> x({3, 2});
    for (std::size_t i = 0; i < 6; ++i) x.elements[i] = bfloat16(i);
    tensor<float, 2> got({3, 2}), expected({3, 2});
    attend(dot | neighbors(g) | softmax | weighted_sum, x, got);
    reference::attend(dot | neighbors(g) | softmax | weighted_sum, x, expected);
    for (std::size_t i = 0; i < 6; ++i) CHECK(got.elements[i] == Approx(expected.elements[i]));
}
