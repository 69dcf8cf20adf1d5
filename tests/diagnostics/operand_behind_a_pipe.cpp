// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of attend
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | x | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
