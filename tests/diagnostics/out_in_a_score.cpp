// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a score may not use weight or out: use reweight for weights, map for the result
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | rescore(score + out) | softmax | weighted_sum, x, y);
#else
    attend(dot | rescore(score + 1) | softmax | weighted_sum, x, y);
#endif
}
