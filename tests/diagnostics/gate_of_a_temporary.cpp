// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: gated keeps a view, and this container is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/delta.hpp>
#include <fovea/aggregate/gated.hpp>
#include <fovea/aggregate/running_state.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/proportional.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | running_state | gated(tensor<float, 1>({1})), x, result);
#else
    tensor<float, 1> const decay({1});
    reference::attend(dot | causal | unnormalized | running_state | gated(decay), x, result);
#endif
}
