// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(workspace(), scaled_dot | softmax | weighted_sum, x, result);
#else
    workspace scratch;
    attend(scratch, scaled_dot | softmax | weighted_sum, x, result);
#endif
}
