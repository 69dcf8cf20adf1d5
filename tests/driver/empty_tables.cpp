// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change
// A table without elements may stand where no pair reads it: behind a select() that takes its other side, in rows that
// see no key, or in a call without keys. Nothing is read in its place, and what reads it is refused.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// At an address that no process may read, wherever a stride leads to.
template <class T, int Rank>
view<T const, Rank> nowhere(extents_t<Rank> const& extents) {
    return {reinterpret_cast<T const*>(std::uintptr_t{64}), extents};
}

view<float const, 1> const none = nowhere<float, 1>({0});
view<std::int32_t const, 1> const no_integers = nowhere<std::int32_t, 1>({0});
view<float const, 2> const no_rows = nowhere<float, 2>({0, 1 << 20}), no_columns = nowhere<float, 2>({1 << 20, 0});

/// Few queries, a tile of queries in lanes, and more than one block.
constexpr index_t all_queries[] = {1, 3, 40, 130};

void check_near(tensor<float, 4> const& result, tensor<float, 4> const& expected) {
    float most = 0;
    for (index_t i = 0; i < result.size(); ++i)
        if (float const error = std::abs(result.data()[i] - expected.data()[i]); !(error <= most)) most = error;
    CHECK(most < 1e-5f);
}

template <class Spec, class Plain>
void check_same(Spec const& spec, Plain const& plain) {
    for (index_t const queries : all_queries) {
        CAPTURE(queries);
        tensor<float, 4> x({2, 3, queries, 5}), expected(x.extents), result(x.extents, 7), reference(x.extents, 7);
        for (index_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 13) / 8;
        attend(plain, x, expected);
        attend(spec, x, result);
        check_near(result, expected);
        reference::attend(spec, x, x, x, reference);
        check_near(reference, expected);
    }
}

template <class Spec>
void check_zeros(Spec const& spec, index_t keys) {
    for (index_t const queries : all_queries) {
        CAPTURE(queries);
        tensor<float, 4> const x({2, 3, queries, 5}, 1), y({2, 3, keys, 5}, 1);
        tensor<float, 4> result(x.extents, 7);
        attend(spec, x, y, y, result);
        CHECK(std::all_of(result.begin(), result.end(), [](float z) { return z == 0; }));
    }
}

}  // namespace

TEST_CASE("the side of a select() that no pair takes may be a table without elements", "[driver][empty_tables]") {
    auto const plain = scaled_dot | causal | softmax | weighted_sum;
    auto const check = [&](auto const& table) {
        check_same(scaled_dot | rescore(score + select(q_idx < 0, table, 0.f)) | causal | softmax
                       | reweight(select(kv_idx < 0, table, weight)) | weighted_sum,
                   plain);
    };
    check(param(none)[batch]);
    check(param(none)[head]);
    check(param(none)[q_idx]);
    check(param(none)[kv_idx]);
    check(param(none)[q_idx - kv_idx]);
    check(param(no_rows)[head][kv_idx]);
    check(param(no_columns)[q_idx][kv_idx]);
    check(param(no_integers)[kv_idx] * 0.5f);
}

TEST_CASE("a mask may name a table without elements behind a condition", "[driver][empty_tables]") {
    check_same(scaled_dot | causal | where(kv_idx >= 0 || param(no_integers)[kv_idx] == 3) | softmax | weighted_sum,
               scaled_dot | causal | softmax | weighted_sum);
}

TEST_CASE("rows that see no key read no table", "[driver][empty_tables]") {
    std::vector<std::int32_t> const lengths{0, 0};
    view<float const, 2> const no_weights = nowhere<float, 2>({0, 5});
    for (index_t const keys : {index_t{0}, index_t{20}}) {
        auto const check = [&](auto const& score, auto const& normalize) {
            check_zeros(score | key_lengths(lengths) | normalize | weighted_sum, keys);
        };
        check(dot | rescore(score + param(none)[head] * kv_idx), softmax);
        check(dot | rescore(score * param(none)[q_idx] + param(none)[kv_idx]), hardmax);
        check(compare(sum(param(no_weights)[head] * q * k)), softmax);
        check(compare(sum(param(no_weights)[q_idx] * tanh(q + k))), sparsemax);
        check(compare(sum(q * k) + sum(param(no_weights)[kv_idx] * k)), softmax);
    }
}

TEST_CASE("edges that do not read a table do not need its elements", "[driver][empty_tables]") {
    std::vector<graph::edge> const edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}};
    graph const ring(5, edges);
    tensor<float, 4> x({1, 2, 5, 7}), expected(x.extents), result(x.extents, 7);
    for (index_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 11) / 8;
    attend(scaled_dot | neighbors(ring) | softmax | weighted_sum, x, expected);
    attend(scaled_dot | rescore(score + select(edge < 0, param(none)[edge], 0.f)) | neighbors(ring) | softmax
               | weighted_sum,
           x, result);
    check_near(result, expected);
}

TEST_CASE("a table without elements that a pair reads is refused", "[driver][empty_tables]") {
    tensor<float, 4> const x({2, 3, 4, 5}, 1);
    tensor<float, 4> result(x.extents, 7);
    auto const refused = [&](auto const& table) {
        CHECK_THROWS_AS(attend(scaled_dot | rescore(score + table) | softmax | weighted_sum, x, result), shape_error);
        CHECK(std::all_of(result.begin(), result.end(), [](float z) { return z == 7; }));
    };
    refused(param(none)[head]);
    refused(param(none)[kv_idx]);
    refused(param(no_columns)[q_idx][kv_idx]);
}
