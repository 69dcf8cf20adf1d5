// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a neighborhood lies on a line, a plane or in a volume
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/neighborhood.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | neighborhood({3, 3, 3, 3}, {4, 4, 4, 4}) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighborhood({3, 3, 3}, {4, 4, 16}) | softmax | weighted_sum, x, result);
#endif
}
