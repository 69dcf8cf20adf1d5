// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcc: 'n' is not a constant expression
// clang: non-type template argument is not a constant expression
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> w, int n) {
#ifdef FOVEA_BROKEN
    attend(project(w, w, w, heads<n>) | scaled_dot | softmax | weighted_sum, x, result);
#else
    if (n == 8) attend(project(w, w, w, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
    else attend(project(w, w, w, heads<4>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
