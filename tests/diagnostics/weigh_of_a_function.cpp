// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: weigh takes an expression of score, such as sigmoid(score)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | weigh([](auto s) { return sigmoid(s); }) | weighted_sum, x, result);
#else
    attend(scaled_dot | weigh(sigmoid(score)) | weighted_sum, x, result);
#endif
}
