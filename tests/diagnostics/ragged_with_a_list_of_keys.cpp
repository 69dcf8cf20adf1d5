// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a mask that lists keys cannot be used in a ragged call
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/ragged.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets,
          [[maybe_unused]] graph_view graph) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), scaled_dot | neighbors(graph) | softmax | weighted_sum, x, result);
#else
    reference::attend(ragged(offsets), scaled_dot | causal | softmax | weighted_sum, x, result);
#endif
}
