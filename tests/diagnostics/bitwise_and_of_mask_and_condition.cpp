// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/logic.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (causal & (kv_idx < 5)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | (causal && kv_idx < 5) | softmax | weighted_sum, x, result);
#endif
}
