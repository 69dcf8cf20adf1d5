// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: best_key writes positions: pass a view of integers
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/result/best_key.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 1> reals, view<int, 1> best) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, best_key(reals));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, best_key(best), lse(reals));
#endif
}
