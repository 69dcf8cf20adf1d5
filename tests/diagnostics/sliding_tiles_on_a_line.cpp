// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: sliding tiles cover a plane or a volume
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/sliding_tiles.hpp>
#include <fovea/mask/sliding_window.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | sliding_tiles({3}, {4}, {64}) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | sliding_tiles({3, 3}, {4, 4}, {16, 16}) | softmax | weighted_sum, x, result);
#endif
}
