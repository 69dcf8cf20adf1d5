// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: delta_of_proportional
// sentence: fovea: delta needs the normalizer unnormalized
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | proportional | running_state | delta(0.5f), x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state | delta(0.5f), x, result);
#endif
}

// case: gate_without_causal
// sentence: fovea: gated and delta run from position to position: write causal after the score
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | unnormalized | running_state | gated(-0.1f), x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state | gated(-0.1f), x, result);
#endif
}

// case: gate_without_state
// sentence: fovea: write running_state right before this
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | weighted_sum | gated(-0.1f), x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state | gated(-0.1f), x, result);
#endif
}

// case: second_gate
// sentence: fovea: this running state already has such a rule; another cannot be added after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | running_state | gated(-0.1f) | gated(-0.2f), x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state | gated(-0.1f) | delta(0.2f), x, result);
#endif
}

// case: state_behind_a_window
// sentence: fovea: with a running state a query sees all keys or, with causal, those up to its own position: for other
// masks write weighted_sum
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | sliding_window(8, 0) | unnormalized | running_state, x, result);
#else
    reference::attend(dot | sliding_window(8, 0) | unnormalized | weighted_sum, x, result);
#endif
}

// case: state_of_a_weighted_sum
// sentence: fovea: past_state, present_state and d_present_state belong to an attention with running_state
void call(view<float, 2> x, view<float, 2> result, view<float, 2> state) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | weighted_sum, x, result, present_state(state));
#else
    reference::attend(dot | causal | unnormalized | running_state, x, result, present_state(state));
#endif
}

// case: state_of_no_product
// sentence: fovea: a running state needs a score that is a sum of products of the query and the key, such as dot,
// scaled_dot or feature_map(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(cosine | causal | unnormalized | running_state, x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state, x, result);
#endif
}

// case: state_of_softmax
// sentence: fovea: running_state needs the normalizer unnormalized or proportional
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | softmax | running_state, x, result);
#else
    reference::attend(dot | causal | proportional | running_state, x, result);
#endif
}

// case: weights_of_a_state
// sentence: fovea: a running state makes no rows of weights: beside the result it has past_state and present_state
void call(view<float, 2> x, view<float, 2> result, view<float, 2> pairs) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | running_state, x, result, weights(pairs));
#else
    reference::attend(dot | causal | unnormalized | weighted_sum, x, result, weights(pairs));
#endif
}
