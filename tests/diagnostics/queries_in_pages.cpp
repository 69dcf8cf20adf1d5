// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: only keys and values may be paged: pass queries and the result as views
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cstdint>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, view<std::int32_t, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, paged(pages, table), x, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table), result);
#endif
}
