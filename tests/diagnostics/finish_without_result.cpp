// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: there is no result to finish yet: write an aggregator such as weighted_sum before it
#include <fovea/aggregate/concat_heads.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | concat_heads, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | concat_heads, x, result);
#endif
}
