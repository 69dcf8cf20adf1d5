// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an output of one number for each pair is (query, key), (batch, query, key), (head, query, key) or
// (batch, head, query, key)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, std::vector<float>& w) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(w));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(view(w, {4, 4})));
#endif
}
