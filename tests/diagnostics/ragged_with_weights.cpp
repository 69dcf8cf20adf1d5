// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: beside the result, ragged has lse, past_state and present_state; ask for others sequence by sequence
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/ragged.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result, weights(x));
#else
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}
