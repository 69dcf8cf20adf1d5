// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads of tables for a query alone, or a key alone, are terms; reads that mix both stay.
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/normalize/softmax_with_sink.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

struct counts {
    index_t rows = 0, keys = 0;
    friend constexpr bool operator==(counts const&, counts const&) = default;
};

/// The terms of a score and a condition.
template <class Score, class Condition = always_t>
counts terms_of(Score const& score, Condition const& condition = {}) {
    auto const spec = plan::lower_pairs(as_expression(score), condition);
    using parts = std::remove_cvref_t<decltype(spec.score.parts)>;
    return {plan::count_of<decltype(parts::rows)>, plan::count_of<decltype(parts::keys)>};
}

tensor<float, 2> const positions({20, 3}, 0.5f);
tensor<int, 1> const groups({20}, 1);
auto const x = param(positions);

}  // namespace

TEST_CASE("elements of tables are terms of the query or the key that chooses them", "[plan]") {
    CHECK(terms_of(square(x(q_idx, 0) - x(kv_idx, 0))) == counts{.rows = 1, .keys = 1});
    CHECK(terms_of(1.0f * x(kv_idx, 0) - kv_idx) == counts{.keys = 1});
    CHECK(terms_of(sum(q * k) - square(x(kv_idx, 0)) * x(kv_idx, 1)) == counts{.keys = 1});  // one number
    CHECK(terms_of(0 * kv_idx, square(x(q_idx, 0) - x(kv_idx, 0)) < 4) == counts{.rows = 1, .keys = 1});
    CHECK(terms_of(select(x(kv_idx, 1) < 0.5f, 1.0f, 2.0f)) == counts{.keys = 1});
}

TEST_CASE("where reals are compared, elements are terms, and nothing that is computed of them", "[plan]") {
    CHECK(terms_of(0 * kv_idx, square(x(kv_idx, 0)) + square(x(kv_idx, 1)) < 4) == counts{.keys = 2});
    CHECK(terms_of(select(x(kv_idx, 0) * x(kv_idx, 1) < real(q_idx), 1.0f, 2.0f)) == counts{.keys = 2});
}

TEST_CASE("elements for a key and a head are terms where keys are in lanes anyhow", "[plan]") {
    CHECK(terms_of(x(kv_idx, head)) == counts{.keys = 1});
    CHECK(terms_of(sum(abs(q - k)) + x(kv_idx, head) * x(q_idx, head)) == counts{.rows = 1, .keys = 1});
    CHECK(terms_of(sum(q * k) + sum(tanh(q + k)), x(kv_idx, head) < x(q_idx, 0)) == counts{.rows = 2, .keys = 1});
    auto const of_rows = plan::lower_pairs<true>(sum(q * k) + x(kv_idx, head), always);
    CHECK(plan::count_of<decltype(of_rows.score.parts.keys)> == 1);
    STATIC_REQUIRE(plan::has_keys_in_lanes<decltype(dot | sparsemax | weighted_sum)>);
    STATIC_REQUIRE(!plan::has_keys_in_lanes<decltype(dot | softmax_with_sink(1) | weighted_sum)>);
    STATIC_REQUIRE(!plan::has_keys_in_lanes<decltype(dot | softmax | weighted_sum)>);
}

TEST_CASE("what depends on both sides, on heads beside keys of a product, or is no real, is no term", "[plan]") {
    CHECK(terms_of(x(q_idx - kv_idx + 20, 0)) == counts{});
    CHECK(terms_of(sum(q * k) + x(kv_idx, head)) == counts{});
    CHECK(terms_of(x(kv_idx - q_idx, 0) * x(kv_idx, 0)) == counts{.keys = 1});
    CHECK(terms_of(0 * kv_idx, param(groups)[q_idx] == param(groups)[kv_idx]) == counts{});
    CHECK(terms_of(0 * kv_idx, kv_idx <= q_idx) == counts{});
}

TEST_CASE("bounds of a condition with terms are those of the condition as it was written", "[plan]") {
    tensor<float, 2> line({64, 1});
    for (index_t i = 0; i < 64; ++i) line(i, 0) = static_cast<float>(i);
    auto const p = param(line);
    auto const near = abs(p(q_idx, 0) - p(kv_idx, 0)) < 8;
    auto const spec = plan::lower_pairs(sum(q * k), near);
    index_t settled = 0;
    for (index_t from = 0; from < 64; from += 4)
        for (index_t to = 0; to < 64; to += 4) {
            box const where{0, 0, {from, from + 3}, {to, to + 3}, 64, 64};
            auto const seen = plan::bound_hoisted<float>(spec.predicate, spec.score.parts, where);
            CHECK(seen == bound<float>(near, where));
            settled += seen.always() || seen.never();
        }
    CHECK(settled > 200);
}

TEST_CASE("where keys are listed nothing is taken out for a key", "[plan]") {
    auto const listed = plan::lower_for<true>(x(kv_idx, 0) * sum(q * k));
    CHECK(plan::count_of<decltype(listed.parts.keys)> == 0);
}
