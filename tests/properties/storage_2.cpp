// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without forced inlining: many types, and the loops compute the same.
#include "support/plain_inline.hpp"

#include "support/compositions.hpp"

using namespace compositions;

TEST_CASE("float and double in pages and ragged give what the definition says", "[driver]") {
    // scaled_dot, softcap, prefix_lm, hardmax, weighted_sum
    try_composed<128, stored_in<float>, arch::best, layout::paged>();
    try_composed<128, stored_in<bfloat16>, arch::best, layout::paged>();
    try_composed<128, stored_in<float>, arch::best, layout::ragged>();
    // scaled_dot, gumbel, causal, softmax_plus_one, max_pool
    try_composed<82, stored_in<float>, arch::best, layout::paged, also::log_sums>();
    try_composed<82, stored_in<double>, arch::best, layout::paged>();
    try_composed<82, stored_in<double>, arch::best, layout::ragged, also::log_sums>();
    // gaussian, gumbel, prefix_lm, softmax, weighted_sum
    try_composed<270, stored_in<float>, arch::best, layout::paged, also::weights>();
    try_composed<270, stored_in<float>, arch::best, layout::ragged, also::log_sums>();
    try_composed<270, stored_in<float>, arch::emulated<32>, layout::paged>();
    try_composed<270, stored_in<double, float, float, double>, arch::best, layout::paged>();
}
