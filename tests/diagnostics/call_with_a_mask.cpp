// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a call has query, key, value and result; masks and biases are parts of the specification: |
// mask_tensor(m), | bias(b)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<bool, 2> visible) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, visible, result);
#else
    reference::attend(scaled_dot | mask_tensor(visible) | softmax | weighted_sum, x, x, x, result);
#endif
}
