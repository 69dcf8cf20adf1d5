// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a table over pairs is (key), (query, key), (head, query, key) or (batch, head, query, key)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 5> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(table) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | bias(view<float, 4>(table.data, {1, 1, 4, 4})) | softmax | weighted_sum, x, result);
#endif
}
