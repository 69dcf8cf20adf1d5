// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * std::pow(2.f, -(head + 1))) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * pow(2.f, -(head + 1))) | softmax | weighted_sum, x, result);
#endif
}
