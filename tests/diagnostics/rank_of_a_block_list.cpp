// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a block list is (query block, key block) or (head, query block, key block)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/block_list.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<std::uint8_t, 1> seen) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | block_list(seen, 16, 16) | softmax | weighted_sum, x, result);
#else
    reference::attend(
        scaled_dot | block_list(view<std::uint8_t, 2>(seen.data, {1, seen.extent(0)}), 16, 16) | softmax | weighted_sum,
        x, result);
#endif
}
