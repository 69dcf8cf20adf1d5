// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an attention has at least one head
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(project(as_is, as_is, as_is, heads<0>) | scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<1>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
