// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcc: no match for 'operator[]'
// clang: no viable overloaded operator[]
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

float const slopes[] = {0.5f, 0.25f};

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * slopes[head]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(slopes)[head]) | softmax | weighted_sum, x, result);
#endif
}
