// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an additional output is a view of const elements and cannot be written
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(view<float const, 1>(sums)));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}
