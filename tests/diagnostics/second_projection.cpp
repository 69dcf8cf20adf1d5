// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this specification already has a projection; another cannot be added after it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(
        project(as_is, as_is, as_is) | project(as_is, as_is, as_is, heads<8>) | scaled_dot | softmax | weighted_sum, x,
        result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
