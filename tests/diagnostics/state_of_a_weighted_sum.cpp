// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: past_state and present_state belong to an attention with running_state
#include <fovea/aggregate/delta.hpp>
#include <fovea/aggregate/gated.hpp>
#include <fovea/aggregate/running_state.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/proportional.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/result/present_state.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> state) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | weighted_sum, x, result, present_state(state));
#else
    reference::attend(dot | causal | unnormalized | running_state, x, result, present_state(state));
#endif
}
