// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the result is a temporary, destroyed at the end of the statement: give it a name
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, tensor<float, 2>({4, 8}));
#else
    tensor<float, 2> result({4, 8});
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
