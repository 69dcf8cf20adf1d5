// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this is a number, and a condition is needed: compare it, as in x != 0
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | rescore(select(kv_idx % 2, score, 0)) | softmax | weighted_sum, x, y);
#else
    attend(dot | rescore(select(kv_idx % 2 != 0, score, 0)) | softmax | weighted_sum, x, y);
#endif
}
