// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the rank and the number of extents differ: give one extent for each axis
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(float const* numbers, view<float, 3> result) {
#ifdef FOVEA_BROKEN
    view<float const, 3> const x(numbers, {6, 8});
#else
    view<float const, 3> const x(numbers, {1, 6, 8});
#endif
    attend(scaled_dot | softmax | weighted_sum, x, result);
}
