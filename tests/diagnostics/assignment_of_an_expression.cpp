// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an expression never changes: give the new one a name: auto const t = s + 1
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    auto s = score * 2;
    s = s + 1;
    attend(scaled_dot | rescore(s) | softmax | weighted_sum, x, result);
#else
    auto const s = score * 2;
    attend(scaled_dot | rescore(s + 1) | softmax | weighted_sum, x, result);
#endif
}
