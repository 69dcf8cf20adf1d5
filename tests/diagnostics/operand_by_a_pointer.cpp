// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(float const* x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(x, {4, 8}), result);
#endif
}
