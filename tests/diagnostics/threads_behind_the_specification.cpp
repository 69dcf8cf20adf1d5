// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: pass threads(n), a workspace and ragged(...) before the specification
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, threads(2), x, result);
#else
    attend(threads(2), scaled_dot | softmax | weighted_sum, x, result);
#endif
}
