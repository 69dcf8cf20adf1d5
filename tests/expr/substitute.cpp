// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/functions.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/expr/print.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("substitution replaces every occurrence of a name", "[expr]") {
    CHECK(print(substitute(score * score + q_idx, score, sum(q * k))) == "sum(q * k) * sum(q * k) + q_idx");
    CHECK(print(substitute(tanh(score / 2), score, score + 1)) == "tanh((score + 1) / 2)");
    CHECK(print(substitute(select(kv_idx < 3, score, 0), kv_idx, q_idx - 1)) == "select(q_idx - 1 < 3, score, 0)");
}

TEST_CASE("a name that does not occur changes nothing", "[expr]") {
    auto const e = 2 * tanh(score);
    STATIC_REQUIRE(std::is_same_v<decltype(substitute(e, kv_idx, q_idx)), std::remove_const_t<decltype(e)>>);
    STATIC_REQUIRE(std::is_same_v<decltype(substitute(e, score, score)), std::remove_const_t<decltype(e)>>);
}

TEST_CASE("substitution reaches the indices of tables", "[expr]") {
    std::vector<float> const table(4);
    CHECK(print(substitute(param(table)[kv_idx], kv_idx, kv_idx / 2)) == "param[kv_idx / 2]");
}

TEST_CASE("substitutions of a chain are those of its links, one after the other", "[expr]") {
    auto const inner = substitute(score + 1, score, 2 * score);
    auto const chained = substitute(tanh(score), score, inner);
    STATIC_REQUIRE(
        std::is_same_v<std::remove_const_t<decltype(chained)>, std::remove_cvref_t<decltype(tanh(2 * score + 1))>>);
}
