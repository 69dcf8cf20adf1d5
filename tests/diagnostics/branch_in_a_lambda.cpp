// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: no value is known while an expression is built: use select(condition, a, b)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore([](auto s, auto) {
                          if (s > 0) return 2 * s;
                          return 3 * s;
                      }) | softmax
                          | weighted_sum,
                      x, result);
#else
    reference::attend(
        scaled_dot | rescore([](auto s, auto) { return select(s > 0, 2 * s, 3 * s); }) | softmax | weighted_sum, x,
        result);
#endif
}
