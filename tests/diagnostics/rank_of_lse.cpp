// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an output of one number for each query is (query), (batch, query), (head, query) or (batch, head,
// query)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 4> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(view<float, 1>(sums.data, {x.extent(0)})));
#endif
}
