// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an output of one number for each pair is (query, key), (batch, query, key), (head, query, key) or
// (batch, head, query, key)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 1> row) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(row));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result,
                      weights(view<float, 2>(row.data, {1, row.extent(0)})));
#endif
}
