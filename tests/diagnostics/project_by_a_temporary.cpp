// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: project keeps views, and one of these matrices is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

tensor<float, 2> const matrix({8, 8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(project(matrix, tensor<float, 2>({8, 8}, 1), as_is) | scaled_dot | softmax | weighted_sum, x,
                      result);
#else
    reference::attend(project(matrix, matrix, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
