// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the offsets of ragged are integers of one type
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/ragged.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets,
          std::vector<int> const& short_offsets) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets, short_offsets), scaled_dot | softmax | weighted_sum, x, x, x, result);
#else
    reference::attend(ragged(short_offsets), scaled_dot | softmax | weighted_sum, x, result);
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}
