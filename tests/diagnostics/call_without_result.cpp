// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an operand or the result is missing: attend(specification, query, key, value, result),
// attend(specification, x, result) or attend(specification, queries(x), memory(m), result)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}
