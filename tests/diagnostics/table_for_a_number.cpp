// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this word takes a number or an expression: index a table, as param(t)[head]
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/score/softcap.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, std::vector<float> const& caps) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softcap(caps) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softcap(param(caps)[head]) | softmax | weighted_sum, x, result);
#endif
}
