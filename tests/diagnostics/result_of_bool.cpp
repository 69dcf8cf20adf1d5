// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the result has elements of type bool, which hold no weighted sum
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, [[maybe_unused]] view<bool, 2> yes, [[maybe_unused]] view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, x, x, yes);
#else
    attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}
