// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense attention with every kind of mask, against the definition.
#include <fovea/fovea.hpp>

#include "support/fused.hpp"

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("causal, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal | softmax | weighted_sum);
    check_fused<double>(scaled_dot | causal | softmax | weighted_sum);
}

TEST_CASE("causal at the end, fused", "[driver]") {
    check_fused<float>(scaled_dot | causal_at_end | softmax | weighted_sum);
}

TEST_CASE("a sliding window, fused", "[driver]") {
    check_fused<float>(scaled_dot | sliding_window(5, 2) | softmax | weighted_sum);
}

TEST_CASE("documents behind one another, fused", "[driver]") {
    std::vector<int> document;
    for (int i = 0; i < 200; ++i) document.push_back(i / 23);
    check_fused_at_all_widths<float>(scaled_dot | where(param(document)[q_idx] == param(document)[kv_idx]) | causal
                                     | softmax | weighted_sum);
}

TEST_CASE("a mask of no key and one of some heads, fused", "[driver]") {
    check_fused<float>(scaled_dot | where(kv_idx < 0) | softmax | weighted_sum);
    check_fused<float>(scaled_dot | where(head % 2 == 0 || kv_idx % 3 == 1) | softmax | weighted_sum);
}
