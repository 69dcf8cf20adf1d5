// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: alone native change
// Operands and results stored in fewer bits than they are computed in: the values are those of the widened operands.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

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

/// Results that are rounded when they are stored: where a matrix unit multiplies, float32 may round them otherwise
/// before.
template <class Out>
void check_rounded(tensor<Out, 4> const& got, tensor<float, 4> const& expected) {
    float const allowed = arch::has_matrix_unit<arch::best> ? 1 : 0;
    bool right = true;
    for (std::size_t i = 0; i < expected.elements.size(); ++i) {
        float const x = expected.elements[i], off = allowed * (4e-6f + 1e-5f * std::abs(x));
        auto const found = static_cast<float>(got.elements[i]);
        right = right && static_cast<float>(Out(x - off)) <= found && found <= static_cast<float>(Out(x + off));
    }
    CHECK(right);
}

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
    if (std::is_same_v<Out, float>)
        testing::check_close<float, float>("result", expected.elements, widened(got).elements, {4e-6, 1e-5});
    else check_rounded(got, expected);
    reference::attend(spec, q, k, v, by_definition);
    testing::check_close<float, float>("result", by_definition.elements, expected.elements, {4e-6, 1e-5});
}

/// Everything in bfloat16: weights may be rounded as the result is, which moves it by their share of each value.
/// Whether there are many rows, few that meet keys in place, or one; sizes that are no multiple of anything, and round
/// ones.
template <class Arch>
void check_all_bfloat16(auto const& spec) {
    struct {
        index_t queries, keys, features;
    } const sizes[] = {{37, 45, 24}, {40, 300, 64}, {3, 77, 19}, {1, 301, 64}, {2, 64, 128}, {1, 1, 1}, {5, 35, 40}};
    testing::dice random{12};
    for (auto const& s : sizes) {
        auto const tensor_of = [&](index_t heads, index_t n) {
            return stored_as<bfloat16>(testing::random_tensor<float, 4>(random, {2, heads, n, s.features}, 2));
        };
        auto const q = tensor_of(4, s.queries), k = tensor_of(2, s.keys), v = tensor_of(2, s.keys);
        auto magnitude = widened(v);
        for (float& x : magnitude.elements) x = std::abs(x);
        tensor<bfloat16, 4> got(q.extents);
        tensor<float, 4> expected(q.extents), room(q.extents);
        workspace scratch;
        attend_on<Arch>(serial, scratch, spec, q, k, v, got);
        reference::attend(spec, q, k, v, expected);
        reference::attend(spec, widened(q), widened(k), magnitude, room);
        float worst = 0;
        for (std::size_t i = 0; i < expected.elements.size(); ++i) {
            float const off = std::abs(static_cast<float>(got.elements[i]) - expected.elements[i]);
            worst = std::max(worst, off / (0x1p-8f * (room.elements[i] + std::abs(expected.elements[i])) + 1e-5f));
        }
        CAPTURE(s.queries, s.keys, s.features);
        CHECK(worst <= 1.01f);
    }
}

/// Operands that are converted, on a given width: more blocks of keys than are kept, blocks that some rows see nothing
/// of, and odd numbers of features.
template <class Arch, class Q, class K, class V>
void check_converted(auto const& spec, index_t queries, index_t keys, index_t features) {
    CAPTURE(queries, keys, features);
    testing::dice random{14};
    auto const q = stored_as<Q>(testing::random_tensor<float, 4>(random, {1, 4, queries, features}));
    auto const k = stored_as<K>(testing::random_tensor<float, 4>(random, {1, 2, keys, features}, 2));
    auto const v = stored_as<V>(testing::random_tensor<float, 4>(random, {1, 2, keys, features + 3}, 2));
    tensor<float, 4> got({1, 4, queries, features + 3}), expected(got.extents);
    workspace scratch;
    attend_on<Arch>(serial, scratch, spec, q, k, v, got);
    reference::attend(spec, widened(q), widened(k), widened(v), expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 2e-5});
}

template <class Arch>
void check_converted_on() {
    auto const plain = scaled_dot | softmax | weighted_sum;
    auto const window = scaled_dot | where(abs(q_idx - kv_idx) < 9 && kv_idx % 150 < 140) | softmax | weighted_sum;
    check_converted<Arch, float16, float16, float16>(plain, 41, 300, 24);
    check_converted<Arch, bfloat16, float16, float>(window, 230, 290, 17);
    check_converted<Arch, float, bfloat16, std::int8_t>(window, 70, 90, 7);
    check_converted<Arch, float16, float, bfloat16>(gaussian(4) | causal_at_end | softmax | weighted_sum, 7, 140, 33);
    check_converted<Arch, float, float, bfloat16>(
        compare(sum(q * k) / 3 - 0.1f * sum(q * q)) | weigh(sigmoid(score)) | weighted_sum, 20, 131, 1);
}

}  // namespace

TEST_CASE("bfloat16 operands and results", "[driver]") {
    check_all_bfloat16<arch::best>(scaled_dot | softmax | weighted_sum);
    check_all_bfloat16<arch::best>(scaled_dot | causal_at_end | softmax | weighted_sum);
    on_emulated<arch::emulated<64, 32>>(
        [](auto other) { check_all_bfloat16<decltype(other)>(scaled_dot | causal_at_end | softmax | weighted_sum); });
#if defined(__AVX512BF16__)  // also where arch::best does not use it
    check_all_bfloat16<arch::avx512_bf16>(scaled_dot | causal_at_end | softmax | weighted_sum);
#endif
}

TEST_CASE("float16 operands and results", "[driver]") {
    check_storage<float16, float16, float16, float16>(scaled_dot | softmax | weighted_sum);
    check_storage<float16, float16, float16, float16>(scaled_dot | hardmax | weighted_sum);
}

TEST_CASE("keys and values in 8 bits with an exponent", "[driver]") {
    check_storage<fp8_e5m2, fp8_e4m3, fp8_e5m2, fp8_e4m3>(scaled_dot | causal | softmax | weighted_sum);
}

TEST_CASE("integers with a scale for each token", "[driver]") {
    operands const all;
    auto const key = stored_as<std::int8_t>(all.key), value = stored_as<std::int8_t>(all.value);
    testing::dice random(5);
    auto const key_scale = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 2, 45}, 0.1);
    auto const value_scale = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 2, 45}, 0.1);
    auto scaled_key = widened(key), scaled_value = widened(value);
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
            for (index_t j = 0; j < 45; ++j) {
                for (index_t c = 0; c < 24; ++c) scaled_key(b, h, j, c) *= key_scale(b, h, j);
                for (index_t c = 0; c < 19; ++c) scaled_value(b, h, j, c) *= value_scale(b, h, j);
            }
    tensor<float, 4> got({2, 4, 37, 19}), expected({2, 4, 37, 19});
    attend(scaled_dot | rescore(score * param(key_scale)(batch, head / 2, kv_idx)) | softmax
               | reweight(weight * param(value_scale)(batch, head / 2, kv_idx)) | weighted_sum,
           all.query, key, value, got);
    reference::attend(scaled_dot | softmax | weighted_sum, all.query, scaled_key, scaled_value, expected);
    testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 1e-5});
}

TEST_CASE("long doubles are computed in double", "[driver]") {
    long double const query[1][1] = {{1}}, key[1][1] = {{1}}, value[1][1] = {{1 + 1e-12L}};
    long double result[1][1];
    attend(dot | unnormalized | weighted_sum, query, key, value, result);
    CHECK(std::abs(result[0][0] - value[0][0]) < 1e-15L);
}
