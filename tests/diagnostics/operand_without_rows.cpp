// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a container of numbers does not say how many features a row has: write view(elements, {rows,
// features})
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(std::vector<float> const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(x, {x.size() / 8, 8}), result);
#endif
}
