// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcc: no matching function for call to 'max(
// clang: no matching function for call to 'max'
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <algorithm>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(std::max(score, 0.f)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(max(score, 0.f)) | softmax | weighted_sum, x, result);
#endif
}
