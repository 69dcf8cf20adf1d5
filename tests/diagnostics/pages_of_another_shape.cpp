// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: pages are (page, head, slot, feature), their table (batch, page) of std::int32_t
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cstdint>
#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, std::vector<std::int32_t>& table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table), result);
#else
    auto const rows = view(table, {1, table.size()});
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, rows), paged(pages, rows), result);
#endif
}
