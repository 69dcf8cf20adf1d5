// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without forced inlining: many types, and the loops compute the same.
#include "support/plain_inline.hpp"

#include "support/compositions.hpp"

using namespace compositions;

TEST_CASE("operands in 16 bits give what the definition says, dense, in pages and ragged", "[driver]") {
    using bfloat16s = stored_in<bfloat16>;
    using float16s = stored_in<float16>;
    // scaled_dot, gumbel, causal, softmax_plus_one, max_pool
    try_composed<82, bfloat16s, arch::best, layout::dense, also::log_sums>();
    try_composed<82, float16s, arch::best, layout::paged>();
    // gaussian, gumbel, prefix_lm, softmax, weighted_sum
    try_composed<270, bfloat16s>();
    try_composed<270, bfloat16s, arch::best, layout::paged, also::log_sums>();
    try_composed<270, bfloat16s, arch::best, layout::ragged>();
    try_composed<270, bfloat16s, arch::best, layout::dense, also::weights>();
    try_composed<270, bfloat16s, arch::emulated<64, 32>>();
    try_composed<270, float16s, arch::emulated<16>>();
    // scaled_dot, temperature, sliding_window, sigmoid weights, max_pool
    try_composed<105, bfloat16s, arch::best, layout::paged>();
    try_composed<105, stored_in<bfloat16, bfloat16, bfloat16, float>>();
}
