// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: queries, keys, values and results are (position, feature), (batch, position, feature) or (batch,
// head, position, feature)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 1> row, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, row, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view<float, 2>(row.data, {1, row.extent(0)}), result);
#endif
}
