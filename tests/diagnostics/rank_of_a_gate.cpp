// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a gate or a rate is (head), (batch, head, position) or (batch, head, position, feature)
#include <fovea/aggregate/gated.hpp>
#include <fovea/aggregate/running_state.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/proportional.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> decays) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | unnormalized | running_state | gated(decays), x, result);
#else
    reference::attend(scaled_dot | causal | unnormalized | running_state | gated(view<float, 1>(decays.data, {8})), x,
                      result);
#endif
}
