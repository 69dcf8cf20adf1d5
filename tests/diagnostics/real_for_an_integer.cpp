// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this argument is an integer; a real number was given
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/top_k_softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | top_k_softmax(0.9) | weighted_sum, x, result);
#else
    attend(scaled_dot | top_k_softmax(9) | weighted_sum, x, result);
#endif
}
