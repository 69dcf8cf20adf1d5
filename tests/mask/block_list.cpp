// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/packed_bits.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/block_list.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("block_list keeps the laws of a mask", "[mask]") {
    testing::dice random(4);
    tensor<std::uint8_t, 2> seen({3, 5});
    for (auto& s : seen) s = random.chance(0.5);
    testing::check_mask_laws(block_list(seen, 7, 4), testing::lengths{20, 20, 1, 1});
    tensor<std::uint8_t, 3> of_head({2, 3, 5});
    for (auto& s : of_head) s = random.chance(0.5);
    testing::check_mask_laws(block_list(of_head, 7, 4), testing::lengths{20, 20, 2, 1});
    std::vector<std::uint8_t> const bits{0b01100101, 0b01011010, 0b00100110, 0b00000010};
    testing::check_mask_laws(block_list(packed_bits(bits, {2, 3, 5}), 7, 4), testing::lengths{20, 20, 2, 1});
}

TEST_CASE("blocks are settled", "[mask]") {
    //! [example]
    tensor<std::uint8_t, 2> seen({2, 2}, 1);
    seen(0, 1) = 0;  // the first 32 queries do not see the last 32 keys
    auto const mask = block_list(seen, 32, 32);
    //! [example]
    CHECK(bound(mask.predicate(), box{0, 0, {0, 31}, {32, 63}, 64, 64}).never());
    CHECK(bound(mask.predicate(), box{0, 0, {32, 63}, {0, 63}, 64, 64}).always());
    CHECK(bound(mask.predicate(), box{0, 0, {0, 63}, {32, 63}, 64, 64}) == truth{});
}
