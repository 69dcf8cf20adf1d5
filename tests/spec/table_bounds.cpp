// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/reweight.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/softmax_with_sink.hpp>
#include <fovea/reference/environment.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/spec/call/table_bounds.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <numeric>

using namespace fovea;
using namespace fovea::placeholders;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr operand_shapes shapes_of(index_t batches, index_t heads, index_t queries, index_t keys) {
    return {{batches, heads, queries, 8}, {batches, heads, keys, 8}, {batches, heads, keys, 8}};
}

/// Whether some pair that takes part reads beside a table, by looking at every pair.
template <class Condition, class E>
bool some_pair_throws(Condition const& visible, E const& e, operand_shapes const& n) {
    try {
        for (index_t b = 0; b < n.batches(); ++b)
            for (index_t h = 0; h < n.heads(); ++h)
                for (index_t i = 0; i < n.queries(); ++i)
                    for (index_t j = 0; j < n.keys(); ++j) {
                        reference::index_environment<double> const at{{}, b,           h,        i,
                                                                      j,  n.queries(), n.keys(), n.compared()};
                        if (evaluate(visible, at)) evaluate(e, at);
                    }
    } catch (shape_error const&) {
        return true;
    }
    return false;
}

template <class A>
bool is_refused(A const& a, operand_shapes const& n) {
    try {
        check_tables<float>(a, n);
    } catch (shape_error const&) {
        return true;
    }
    return false;
}

/// check_tables says of a score and a mask what looking at every pair says, over many lengths.
template <class Mask, class E>
void check_verdicts(Mask const& m, E const& e, bool& accepted, bool& refused) {
    for (index_t batches : {1, 3})
        for (index_t queries : {1, 7, 20, 33})
            for (index_t keys : {1, 6, 19, 40}) {
                auto const n = shapes_of(batches, 2, queries, keys);
                bool const expected = some_pair_throws(m.predicate(), e, n);
                INFO(print(e) << " where " << print(m.predicate()) << " of " << queries << " queries, " << keys
                              << " keys");
                CHECK(is_refused(compare(e) | m | softmax | weighted_sum, n) == expected);
                (expected ? refused : accepted) = true;
            }
}

}  // namespace

TEST_CASE("a table is refused exactly where some pair that takes part reads beside it", "[spec]") {
    testing::dice random(11);
    std::vector<std::int32_t> documents(40);
    for (auto& d : documents) d = static_cast<std::int32_t>(random.between(0, 5));
    std::vector<float> const numbers(20, 1.f);
    tensor<float, 2> const pairs({2, 19}, 1.f);
    auto const doc = param(documents);
    auto const table = param(numbers);
    auto const grid = param(pairs);

    bool accepted = false, refused = false;
    auto const check = [&](auto const& e) {
        check_verdicts(where(kv_idx >= 0), e, accepted, refused);
        check_verdicts(causal, e, accepted, refused);
        check_verdicts(sliding_window(5, 2), e, accepted, refused);
        check_verdicts(where(doc[q_idx] == doc[min(kv_idx, 39)]), e, accepted, refused);
        check_verdicts(where(kv_idx < 12 || batch == 2), e, accepted, refused);
    };
    check(table[kv_idx]);
    check(table[q_idx + batch]);
    check(table[q_idx - kv_idx]);
    check(table[q_idx - kv_idx + 5]);
    check(table[max(0, min(q_idx - kv_idx + 5, 19))]);
    check(table[kv_idx % 20] + table[kv_idx / 2]);
    check(table[doc[kv_idx] * 4]);
    check(table[5 - doc[kv_idx]]);
    check(table[7 * (kv_idx % 3)]);
    check(grid[head][kv_idx]);
    check(grid[head - batch][kv_idx / 3]);
    check(select(kv_idx < 15, table[kv_idx], 0.f));
    check(select(kv_idx < 25, table[kv_idx], 0.f));
    check(select(kv_idx < 15, 0.f, table[kv_idx - 15]));
    check(select(kv_idx < 20 && table[kv_idx] > 0, 1.f, 0.f));
    check(select(table[kv_idx] > 0 && kv_idx < 20, 1.f, 0.f));
    check(select(kv_idx >= 20 || table[kv_idx] > 0, 1.f, 0.f));
    CHECK(accepted);
    CHECK(refused);
}

TEST_CASE("what intervals leave open is settled by the numbers of a pair", "[spec]") {
    testing::dice from(12);
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> some(40), none(40, nan);
    for (auto& x : some) x = from.between(0, 2) == 0 ? nan : static_cast<float>(from.between(-2, 2));
    std::vector<float> const numbers(20, 1.f);
    std::vector<std::int64_t> huge(40);
    for (auto& x : huge) x = from.between(0, 1) * (std::numeric_limits<index_t>::max() - 3) + from.between(0, 3);
    auto const gap = param(some);
    auto const hole = param(none);
    auto const table = param(numbers);
    auto const wide = param(huge);

    bool accepted = false, refused = false;
    auto const check = [&](auto const& e) {
        check_verdicts(where(kv_idx >= 0), e, accepted, refused);
        check_verdicts(where(q_idx >= kv_idx && !(gap[q_idx] <= gap[kv_idx])), e, accepted, refused);
        check_verdicts(where(hole[q_idx] != hole[kv_idx] && kv_idx < 22), e, accepted, refused);
    };
    for (bool const swapped : {false, true}) {
        auto const pick = [&](auto const& condition, auto const& inside, auto const& outside) {
            if (swapped) check(select(condition, outside, inside));
            else check(select(condition, inside, outside));
        };
        pick(gap[kv_idx] < 1.f, table[kv_idx], 0.f);
        pick(hole[kv_idx] > 0.f, table[kv_idx], 0.f);
        pick(hole[q_idx] == 0.f || kv_idx < 20, table[kv_idx], table[q_idx]);
        pick(min(gap[kv_idx], 0.f) <= max(0.f, gap[q_idx]), table[q_idx + 2 * head], table[kv_idx]);
        pick(sqrt(gap[kv_idx]) >= gap[q_idx] / gap[kv_idx], table[kv_idx - q_idx + 12], 0.f);
    }
    check(table[select(gap[kv_idx] > 0.f, kv_idx, kv_idx / 2)]);
    check(table[select(hole[q_idx] < gap[kv_idx], 30, q_idx)]);
    check(table[wide[kv_idx] * 2 + 4]);
    check(select(wide[kv_idx] + 3 < 0, table[kv_idx], 0.f));
    check(select(random(7) < 0.05, table[q_idx + kv_idx], 0.f));
    CHECK(accepted);
    CHECK(refused);
}

TEST_CASE("a look-up that leaves its table is named, with a pair that does it", "[spec]") {
    std::vector<float> const numbers(5);
    auto const biased = [&](auto const& index) {
        return scaled_dot | rescore(score + param(numbers)[index]) | causal | softmax | weighted_sum;
    };
    CHECK_NOTHROW(check_tables<float>(biased(kv_idx), shapes_of(2, 3, 5, 9)));
    CHECK_THROWS_WITH(
        check_tables<float>(biased(kv_idx), shapes_of(2, 3, 6, 9)),
        "a table of extents (5) is read at 5 along axis 0, which has 5 elements: batch 0, head 0, q_idx 5, "
        "kv_idx 5");
    CHECK_THROWS_WITH(check_tables<float>(biased(batch - 1), shapes_of(2, 3, 6, 9)),
                      ContainsSubstring("is read at -1 along axis 0, which has 5 elements: batch 0"));
    CHECK_THROWS_WITH(check_tables<float>(biased(kv_idx + 4 * head), shapes_of(2, 3, 3, 9)),
                      ContainsSubstring("is read at") && ContainsSubstring("head 2"));
}

TEST_CASE("tables in a mask, a reweighting, a sum and a map are looked at as well", "[spec]") {
    std::vector<float> const numbers(5);
    tensor<float, 2> const rows({2, 8});
    auto const n = shapes_of(1, 3, 4, 9);
    auto const table = param(numbers);
    CHECK_THROWS_WITH(check_tables<float>(scaled_dot | where(table[kv_idx] > 0) | softmax | weighted_sum, n),
                      ContainsSubstring("is read at 5 along axis 0"));
    CHECK_NOTHROW(check_tables<float>(scaled_dot | where(kv_idx < 5 && table[kv_idx] > 0) | softmax | weighted_sum, n));
    CHECK_NOTHROW(
        check_tables<float>(scaled_dot | where(kv_idx < 5) | where(table[kv_idx] > 0) | softmax | weighted_sum, n));
    CHECK_THROWS_WITH(check_tables<float>(scaled_dot | softmax | reweight(weight * table[kv_idx]) | weighted_sum, n),
                      ContainsSubstring("is read at 5 along axis 0"));
    CHECK_NOTHROW(
        check_tables<float>(scaled_dot | causal | softmax | reweight(weight * table[kv_idx]) | weighted_sum, n));
    CHECK_THROWS_WITH(check_tables<float>(compare(sum(param(rows)[head] * q * k)) | softmax | weighted_sum, n),
                      ContainsSubstring("is read at 2 along axis 0") && ContainsSubstring("head 2"));
    CHECK_THROWS_WITH(check_tables<float>(scaled_dot | softmax | weighted_sum | map(out * table[q_idx + 2]), n),
                      ContainsSubstring("is read at 5 along axis 0") && ContainsSubstring("q_idx 3"));
}

TEST_CASE("what a normalizer asks of its rows is looked at", "[spec]") {
    std::vector<float> const sinks(3);
    auto const spec = scaled_dot | softmax_with_sink(param(sinks)[head]) | weighted_sum;
    CHECK_NOTHROW(check_tables<float>(spec, shapes_of(1, 3, 4, 9)));
    CHECK_THROWS_WITH(
        check_tables<float>(spec, shapes_of(1, 4, 4, 9)),
        ContainsSubstring("a table of extents (3) is read at 3 along axis 0") && ContainsSubstring("head 3"));
}

TEST_CASE("what depends on scores or features is not known and not refused", "[spec]") {
    std::vector<float> const numbers(5);
    auto const read = select(score > 0, param(numbers)[kv_idx], 0.f);
    auto const n = shapes_of(1, 1, 4, 9);
    CHECK_NOTHROW(check_tables<float>(scaled_dot | rescore(score + read) | softmax | weighted_sum, n));

    std::vector<float> const gains(8);
    auto const of_features = [](auto const& factor) { return compare(sum(factor * q * k)) | softmax | weighted_sum; };
    auto const table = param(numbers);
    CHECK_NOTHROW(check_tables<float>(of_features(select(param(gains) > 0.f, table[kv_idx], 0.f)), n));
    CHECK_NOTHROW(
        check_tables<float>(scaled_dot | rescore(score + table[select(score > 0, 5, 0)]) | softmax | weighted_sum, n));
    CHECK_THROWS_WITH(check_tables<float>(of_features(select(kv_idx > 7, table[kv_idx], 0.f)), n),
                      ContainsSubstring("is read at 8 along axis 0"));
}

TEST_CASE("of a graph only the edges count, and each edge has its number", "[spec]") {
    std::vector<float> const numbers(5);
    auto const table = param(numbers);
    std::vector<graph::edge> edges{{0, 3}, {2, 8}, {2, 1}, {3, 0}};
    graph const g(4, edges);
    auto const n = shapes_of(2, 2, 4, 9);
    auto const biased = [&](auto const& e) {
        return scaled_dot | rescore(score + e) | neighbors(g) | softmax | weighted_sum;
    };
    CHECK_THROWS_WITH(check_tables<float>(biased(table[kv_idx]), n),
                      ContainsSubstring("is read at 8 along axis 0") && ContainsSubstring("q_idx 2, kv_idx 8"));
    CHECK_NOTHROW(check_tables<float>(biased(table[kv_idx / 2]), n));
    CHECK_NOTHROW(check_tables<float>(biased(select(kv_idx < 8, table[kv_idx], 0.f)), n));
    CHECK_NOTHROW(check_tables<float>(biased(table[edge + batch]), n));
    CHECK_THROWS_WITH(check_tables<float>(biased(table[edge + batch + head]), n),
                      ContainsSubstring("batch 1, head 1, q_idx 3"));

    std::vector<graph::edge> const of_one_row(6, graph::edge{1, 0});
    graph const star(4, of_one_row);
    CHECK_THROWS_WITH(
        check_tables<float>(scaled_dot | rescore(score + table[edge]) | neighbors(star) | softmax | weighted_sum, n),
        ContainsSubstring("is read at 5 along axis 0"));
}

TEST_CASE("calls without pairs read no table", "[spec]") {
    std::vector<float> const none;
    auto const spec = scaled_dot | rescore(score + param(none)[kv_idx]) | softmax | weighted_sum;
    for (auto const& n : {shapes_of(0, 2, 3, 4), shapes_of(1, 0, 3, 4), shapes_of(1, 2, 0, 4), shapes_of(1, 2, 3, 0)})
        CHECK_NOTHROW(check_tables<float>(spec, n));
    CHECK_THROWS_WITH(check_tables<float>(spec, shapes_of(1, 1, 1, 1)),
                      ContainsSubstring("a table of extents (0) is read at 0 along axis 0, which has 0 elements"));
}

TEST_CASE("long rows are decided by few boxes", "[spec]") {
    index_t const length = 1 << 20;
    std::vector<float> const numbers(1024);
    std::vector<std::int32_t> documents(static_cast<std::size_t>(length), 7);
    auto const table = param(numbers);
    auto const doc = param(documents);
    auto const n = shapes_of(4, 16, length, length);
    CHECK_NOTHROW(check_tables<float>(compare(table[doc[kv_idx]]) | causal | softmax | weighted_sum, n));
    CHECK_NOTHROW(check_tables<float>(
        compare(table[q_idx - kv_idx]) | causal | where(q_idx - kv_idx < 1024) | softmax | weighted_sum, n));
    CHECK_THROWS_WITH(
        check_tables<float>(
            compare(table[q_idx - kv_idx]) | causal | where(q_idx - kv_idx < 1026) | softmax | weighted_sum, n),
        ContainsSubstring("along axis 0, which has 1024 elements"));
    documents[static_cast<std::size_t>(length) - 3] = 1024;
    CHECK_THROWS_WITH(check_tables<float>(compare(table[doc[kv_idx]]) | causal | softmax | weighted_sum, n),
                      ContainsSubstring("is read at 1024") && ContainsSubstring("kv_idx 1048573"));
    CHECK_THROWS_WITH(check_tables<float>(compare(table[q_idx - kv_idx]) | causal | softmax | weighted_sum, n),
                      ContainsSubstring("along axis 0, which has 1024 elements"));
}
