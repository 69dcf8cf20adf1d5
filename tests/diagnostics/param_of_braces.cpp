// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: param keeps a view, and braces make a list that is destroyed at the end of the statement: give the
// numbers a name
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <array>

using namespace fovea;
using namespace fovea::placeholders;

constexpr std::array head_scales{1.f, 2.f, 3.f};

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * param({1.f, 2.f, 3.f})[head]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(head_scales)[head]) | softmax | weighted_sum, x, result);
#endif
}
