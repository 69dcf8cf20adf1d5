// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the rank and the number of extents differ: give one extent for each axis
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 4> result) {
#ifdef FOVEA_BROKEN
    tensor<float, 4> const x({1, 6, 8});
#else
    tensor<float, 4> const x({1, 1, 6, 8});
#endif
    attend(scaled_dot | softmax | weighted_sum, x, result);
}
