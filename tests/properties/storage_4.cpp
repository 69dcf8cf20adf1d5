// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/plain_inline.hpp"

#include "support/compositions.hpp"

using namespace compositions;

TEST_CASE("bfloat16 multiplied by a matrix unit gives what the definition says, dense, in pages and ragged",
          "[driver]") {
    using bfloat16s = stored_in<bfloat16>;
    using machine = arch::emulated<64, 32, true>;
    // scaled_dot, temperature, everything, softmax_plus_one, weighted_sum
    try_composed<73, bfloat16s, machine, layout::dense, also::log_sums>();
    try_composed<73, stored_in<bfloat16, bfloat16, bfloat16, float16>, machine>();
    // scaled_dot, gumbel, causal_at_end, softmax, weighted_sum
    try_composed<90, bfloat16s, machine, layout::ragged>();
    try_composed<90, stored_in<bfloat16, bfloat16, bfloat16, float>, machine, layout::paged>();
    // scaled_dot, softcap, chunked, softmax, weighted_sum
    try_composed<108, bfloat16s, machine, layout::paged>();
}
