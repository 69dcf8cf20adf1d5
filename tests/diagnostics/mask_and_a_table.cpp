// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a mask combines with masks and with conditions such as kv_idx < 5
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<bool const, 2> seen, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (causal && seen) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | (causal && mask_tensor(seen)) | softmax | weighted_sum, x, result);
#endif
}
