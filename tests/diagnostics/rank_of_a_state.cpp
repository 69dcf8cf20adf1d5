// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a state is (batch, head, feature of the key, feature of the value), with batch and head left out
// where they are one
#include <fovea/aggregate/running_state.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/proportional.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/result/present_state.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 1> state) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | unnormalized | running_state, x, result, present_state(state));
#else
    reference::attend(scaled_dot | unnormalized | running_state, x, result,
                      present_state(view<float, 2>(state.data, {8, 4})));
#endif
}
