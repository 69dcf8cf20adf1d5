// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: states of a ragged batch are (sequence, head, feature, feature)
#include <fovea/aggregate/running_state.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/ragged.hpp>
#include <fovea/result/present_state.hpp>
#include <fovea/score/dot.hpp>

#include <vector>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets, view<float, 2> state) {
    [[maybe_unused]] view<float, 4> const states(state.data, {2, 1, 4, 4});
#ifdef FOVEA_BROKEN
    reference::attend(ragged(offsets), dot | unnormalized | running_state, x, result, present_state(state));
#else
    reference::attend(ragged(offsets), dot | unnormalized | running_state, x, result, present_state(states));
#endif
}
