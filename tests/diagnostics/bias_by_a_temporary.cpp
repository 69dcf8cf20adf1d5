// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

tensor<float, 2> const distances({4, 4}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(tensor<float, 2>({4, 4}, 1)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | bias(distances) | softmax | weighted_sum, x, result);
#endif
}
