// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Calls with nothing to do return at once, whatever the other extents are; without keys there are zeros to write.
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

namespace {

constexpr index_t huge = index_t{1} << 32, half = index_t{1} << 31;

/// Operands of extents whose elements nobody may look at, since there are none.
struct extents_of_call {
    extents_t<4> query, key, result;
};
std::vector<extents_of_call> const without_work{
    {{1, huge, 0, 4}, {1, huge, 0, 4}, {1, huge, 0, 4}},
    {{1, huge, 0, 4}, {1, 1, 3, 4}, {1, huge, 0, 4}},
    {{half, half, 0, 4}, {half, half, 0, 4}, {half, half, 0, 4}},
    {{huge, 1, 0, 4}, {huge, 1, 0, 4}, {huge, 1, 0, 4}},
    {{0, huge, 5, 4}, {0, 1, 5, 4}, {0, huge, 5, 4}},
    {{huge, huge, 0, 4}, {huge, 1, 0, 4}, {huge, huge, 0, 4}},
};

/// Each axis but the last stands still: a few numbers are all elements there could be.
template <class T>
view<T, 4> one_row(T* data, extents_t<4> const& extents) {
    return {data, extents, {0, 0, 0, 1}};
}

template <class Spec>
void check_returns(Spec const& spec) {
    float const numbers[4] = {1, 2, 3, 4};
    float written[4] = {7, 7, 7, 7};
    for (auto const& call : without_work) {
        CAPTURE(to_text(call.query), to_text(call.key));
        auto const q = one_row(numbers, call.query), k = one_row(numbers, call.key);
        auto const out = one_row(written, call.result);
        attend(spec, q, k, k, out);
        attend(threads(2), spec, q, k, k, out);
        reference::attend(spec, q, k, k, out);
        CHECK_FALSE(explain(spec, q, k, k).empty());
    }
    CHECK(written[0] == 7);
}

}  // namespace

TEST_CASE("calls with nothing to do return at once", "[driver]") {
    check_returns(scaled_dot | causal | softmax | weighted_sum);
    check_returns(scaled_dot | softmax | weighted_sum);
    check_returns(cosine | sparsemax | weighted_sum);
    check_returns(scaled_dot | softmax | weighted_sum | map(elu(placeholders::out)));
}

TEST_CASE("running states, graphs and merged parts with nothing to do return at once", "[driver]") {
    using placeholders::q;
    float const numbers[4] = {1, 2, 3, 4};
    float written[4] = {7, 7, 7, 7};
    extents_t<4> const none{half, half, 0, 4};
    auto const x = one_row(numbers, none);
    auto const y = one_row(written, none);
    attend(feature_map(elu(q) + 1) | causal | proportional | running_state, x, x, x, y);
    graph const empty(0, {});
    attend(threads(2), scaled_dot | neighbors(empty) | softmax | weighted_sum, x, x, x, y);
    view<float const, 3> const sums(numbers, {half, half, 0}, {0, 0, 1});
    merge(x, sums, x, sums, y);
    merge(threads(3), x, sums, y, view<float, 3>(written, {half, half, 0}, {0, 0, 1}));
    std::vector<index_t> const offsets{0, 0, 0};
    extents_t<4> const rows{1, huge, 0, 4};
    attend(threads(2), ragged(offsets), scaled_dot | softmax | weighted_sum, one_row(numbers, rows),
           one_row(written, rows));
    tensor<float, 2> const w({4, 4}, 1);
    attend(threads(2), project(w, w, w) | scaled_dot | softmax | weighted_sum | output(w) | residual,
           view<float const, 3>(numbers, {huge, 0, 4}, {0, 0, 1}), view<float, 3>(written, {huge, 0, 4}, {0, 0, 1}));
    CHECK(written[0] == 7);
}

TEST_CASE("values without features leave nothing but further outputs to compute", "[driver]") {
    float const numbers[4] = {1, 2, 3, 4};
    float none = 7;
    auto const call = [&](index_t heads) {
        attend(scaled_dot | softmax | weighted_sum, one_row(numbers, {1, heads, half, 4}),
               one_row(numbers, {1, 1, 3, 4}), view<float const, 4>(numbers, {1, 1, 3, 0}, {0, 0, 0, 1}),
               view<float, 4>(&none, {1, heads, half, 0}, {0, 0, 0, 1}));
    };
    call(half / 4);
    CHECK_THROWS_AS(call(half), shape_error);  // more elements than can be counted
    CHECK(none == 7);
    tensor<float, 2> const x({5, 4}, 1);
    tensor<float, 2> const nothing({5, 0});
    tensor<float, 2> y({5, 0});
    tensor<float, 1> sums({5}, 7);
    attend(scaled_dot | causal | softmax | weighted_sum, x, x, nothing, y, lse(sums));
    CHECK(std::abs(sums(0) - 2) < 1e-6f);
    attend(scaled_dot | causal | sparsemax | weighted_sum, x, x, nothing, y);
}

TEST_CASE("without keys the result is zeros and columns have no sums", "[driver]") {
    tensor<float, 4> const queries({2, 3, 5, 4}, 1), none({2, 3, 0, 4});
    auto const check = [&](auto const& spec) {
        tensor<float, 4> result({2, 3, 5, 4}, 7);
        attend(threads(2), spec, queries, none, none, result);
        for (auto const x : result) CHECK(x == 0);
    };
    check(scaled_dot | causal | softmax | weighted_sum);
    check(scaled_dot | top_k_softmax(3) | weighted_sum);
    check(scaled_dot | sliding_window(2, 2) | sparsemax | max_pool);
    tensor<float, 3> sums({2, 3, 6}, 7);
    tensor<float, 4> result({2, 3, 0, 4});
    tensor<float, 4> const keys({2, 3, 6, 4}, 1);
    attend(scaled_dot | softmax | weighted_sum, none, keys, keys, result, column_sums(sums));
    for (auto const x : sums) CHECK(x == 0);
}
