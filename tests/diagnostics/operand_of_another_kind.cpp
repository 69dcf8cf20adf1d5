// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a
// row-major matrix or what container_traits knows
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    struct rows {
        float numbers[32];
    } const y{};
    reference::attend(scaled_dot | softmax | weighted_sum, y, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
