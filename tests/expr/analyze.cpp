// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/functions.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
template <class E>
constexpr bool is_stateless_expression(E const&) {
    return is_stateless<E>;
}
template <class... Names, class E>
constexpr bool mentions(E const&) {
    return uses<E, Names...>;
}
template <class E>
constexpr bool is_a_condition(E const&) {
    return is_condition<E>;
}
}  // namespace

TEST_CASE("an expression knows the names it mentions", "[expr]") {
    STATIC_REQUIRE(mentions<q_t>(sum(q * k)));
    STATIC_REQUIRE(mentions<kv_idx_t, score_t>(score + 1));
    STATIC_REQUIRE(!mentions<head_t>(sum(q * k) + q_idx));
    std::vector<float> const table(3);
    CHECK(mentions<head_t>(param(table)[head] * score));
    STATIC_REQUIRE(has_sum<decltype(1 + sum(q))>);
    STATIC_REQUIRE(!has_sum<decltype(score * 2)>);
    STATIC_REQUIRE(same_for_all_keys<decltype(sum(q) * q_idx)>);
    STATIC_REQUIRE(!same_for_all_keys<decltype(sum(q * k))>);
}

TEST_CASE("conditions are told from numbers", "[expr]") {
    STATIC_REQUIRE(is_a_condition(q_idx < kv_idx));
    STATIC_REQUIRE(is_a_condition(!(q_idx < 3) || head == 2));
    STATIC_REQUIRE(!is_a_condition(q_idx - kv_idx));
    bool const marks[2]{};
    CHECK(is_a_condition(param(view<bool const, 1>(marks, {2}))[head]));
}

TEST_CASE("an expression without numbers and tables is empty", "[expr]") {
    auto const e = sum(q * k) * rsqrt(dim) + tanh(score);
    STATIC_REQUIRE(is_stateless_expression(sum(q * k) * rsqrt(dim)));
    STATIC_REQUIRE(std::is_empty_v<std::remove_const_t<decltype(e)>>);
    STATIC_REQUIRE(!is_stateless_expression(score * 2));
    STATIC_REQUIRE(std::is_trivially_copyable_v<decltype(score * 2 + head)>);
}
