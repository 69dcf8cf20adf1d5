// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: delta keeps a view, and this container is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/delta.hpp>
#include <fovea/aggregate/running_state.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/proportional.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

tensor<float, 1> const rates({8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | unnormalized | running_state | delta(tensor<float, 1>({8}, 1)), x, result);
#else
    reference::attend(scaled_dot | causal | unnormalized | running_state | delta(rates), x, result);
#endif
}
