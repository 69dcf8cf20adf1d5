// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: there are no shifts: write i * 4 for i << 2, and i / 4 for i >> 2
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where((kv_idx >> 4) == 2) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx / 16 == 2) | softmax | weighted_sum, x, result);
#endif
}
