// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without forced inlining: many types, and the loops compute the same.
#include "support/plain_inline.hpp"

#include "support/compositions.hpp"

using namespace compositions;

TEST_CASE("rows that are normalized as a whole, of operands in any type", "[driver]") {
    // cosine, softcap, sliding_window, top_k_softmax(4), weighted_sum
    try_composed<176, stored_in<bfloat16>>();
    try_composed<176, stored_in<float16>, arch::best, layout::paged>();
    try_composed<176, stored_in<float>, arch::best, layout::ragged>();
    // gaussian, alibi, sliding_window, entmax15, weighted_sum
    try_composed<247, stored_in<bfloat16>, arch::best, layout::paged>();
    try_composed<247, stored_in<double>, arch::best, layout::ragged>();
    // dot, gumbel, sliding_window, normalized(sigmoid), max_pool
    try_composed<34, stored_in<bfloat16>>();
    try_composed<34, stored_in<bfloat16, bfloat16, float, bfloat16>, arch::emulated<64, 32>>();
    // l1_distance, alibi, normalized(sigmoid), weighted_sum
    try_composed<295, stored_in<float, float16, bfloat16, float16>, arch::best, layout::ragged>();
    try_composed<295, stored_in<std::int8_t, std::int8_t, bfloat16, bfloat16>>();
    try_composed<295, stored_in<float>, arch::best, layout::paged>();
}
