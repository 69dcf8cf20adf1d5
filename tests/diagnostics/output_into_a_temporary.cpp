// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an additional output is a temporary, destroyed at the end of the statement: give it a name
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(std::vector<float>(4)));
#else
    std::vector<float> sums(4);
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}
