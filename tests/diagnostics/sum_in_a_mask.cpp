// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a mask may use indices and tables only; it uses features of query or key
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | where(sum(q_idx) < 3) | softmax | weighted_sum, x, y);
#else
    attend(dot | where(q_idx < 3) | softmax | weighted_sum, x, y);
#endif
}
