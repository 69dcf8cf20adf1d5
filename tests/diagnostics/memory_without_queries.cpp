// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: queries(x) and memory(m) together replace query, key and value: attend(specification, queries(x),
// memory(m), result)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, memory(x), result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, queries(x), memory(x), result);
#endif
}
