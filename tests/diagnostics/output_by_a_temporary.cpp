// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: output keeps a view, and this matrix or bias is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/output.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

tensor<float, 2> const matrix({8, 8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | output(tensor<float, 2>({8, 8}, 1)), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | output(matrix), x, result);
#endif
}
