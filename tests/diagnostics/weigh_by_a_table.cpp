// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: weigh needs an expression of score and of nothing else: what depends on indices, put into a rescore
// before it
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float const, 3> x, view<float const, 1> table, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | weigh(relu(score - param(table)[0])) | weighted_sum, x, y);
#else
    attend(dot | rescore(score - param(table)[0]) | weigh(relu(score)) | weighted_sum, x, y);
#endif
}
