// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("an expression prints as it is written", "[expr]") {
    CHECK(print(sum(q * k) * rsqrt(dim)) == "sum(q * k) * rsqrt(dim)");
    CHECK(print(50 * tanh(score / 50)) == "50 * tanh(score / 50)");
    CHECK(print(select(kv_idx < 8, score, 0.5)) == "select(kv_idx < 8, score, 0.5)");
    CHECK(print(leaky_relu(out, 0.2f)) == "leaky_relu(out, 0.2)");
}

TEST_CASE("parentheses stand where they are needed, and only there", "[expr]") {
    CHECK(print((q_idx - kv_idx) * 2) == "(q_idx - kv_idx) * 2");
    CHECK(print(q_idx - kv_idx * 2) == "q_idx - kv_idx * 2");
    CHECK(print(q_idx - (kv_idx - 2)) == "q_idx - (kv_idx - 2)");
    CHECK(print(q_idx - kv_idx - 2) == "q_idx - kv_idx - 2");
    CHECK(print(q_idx / (kv_idx * 2)) == "q_idx / (kv_idx * 2)");
    CHECK(print(-(q_idx + 1)) == "-(q_idx + 1)");
    CHECK(print(!(q_idx < kv_idx && head == 0)) == "!(q_idx < kv_idx && head == 0)");
    CHECK(print((q_idx < 1 || kv_idx < 1) && head != 3) == "(q_idx < 1 || kv_idx < 1) && head != 3");
    CHECK(print(q_idx < 1 || (kv_idx < 1 && head != 3)) == "q_idx < 1 || kv_idx < 1 && head != 3");
}

TEST_CASE("tables print with their indices", "[expr]") {
    std::vector<float> const table(6);
    auto const t = param(table);
    CHECK(print(t[head] * (kv_idx - q_idx)) == "param[head] * (kv_idx - q_idx)");
    CHECK(print(param(view<float const, 2>(table.data(), {2, 3}))(head, q_idx % 3)) == "param[head, q_idx % 3]");
    CHECK(print(sum(t * q)) == "sum(param * q)");
    CHECK(print(literal<bool>{true}) == "true");
}
