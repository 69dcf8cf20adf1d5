// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without forced inlining: many types, and the loops compute the same.
#include "support/plain_inline.hpp"

#include "support/compositions.hpp"

using namespace compositions;

TEST_CASE("operands each stored in a type of its own give what the definition says", "[driver]") {
    using integers = stored_in<float, std::int8_t>;
    // cosine, alibi, prefix_lm, softmax_plus_one, weighted_sum
    try_composed<199, stored_in<float, bfloat16, float16, float>>();
    try_composed<199, stored_in<bfloat16, float, std::int8_t, float16>, arch::emulated<32>>();
    try_composed<199, integers, arch::best, layout::ragged, also::log_sums>();
    try_composed<199, integers, arch::best, layout::paged>();
    // l1_distance, gumbel, sliding_window, sparsemax, weighted_sum
    try_composed<318, stored_in<bfloat16>>();
    try_composed<318, stored_in<float16, std::int8_t, bfloat16, bfloat16>, arch::best, layout::paged>();
    try_composed<318, stored_in<float, double, float, double>>();
    // dot, alibi, causal, hardmax, max_pool
    try_composed<11, stored_in<bfloat16>>();
    try_composed<11, stored_in<std::int8_t, std::int8_t, std::int8_t, float>>();
    try_composed<11, stored_in<float16, float16, float16, double>, arch::best, layout::ragged>();
}
