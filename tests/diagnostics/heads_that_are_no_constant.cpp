// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the number of heads is part of the type of a projection: write heads<8>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

constexpr int heads_of_the_model = 8;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> w) {
#ifdef FOVEA_BROKEN
    attend(project(w, w, w, heads_of_the_model) | scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(project(w, w, w, heads<heads_of_the_model>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
