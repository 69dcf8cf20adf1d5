// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: and_without_parentheses
// sentence: fovea: `|` binds tighter than `&&`: put parentheses around the mask, or pipe the masks one after the other
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal && sliding_window(8, 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | (causal && sliding_window(8, 0)) | softmax | weighted_sum, x, result);
#endif
}

// case: finish_without_result
// sentence: fovea: there is no result to finish yet: write an aggregator such as weighted_sum before it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | concat_heads, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | concat_heads, x, result);
#endif
}

// case: late_mask
// sentence: fovea: this is a mask: write it after the score function and before the normalizer
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | causal | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | causal | softmax | weighted_sum, x, result);
#endif
}

// case: late_normalizer
// sentence: fovea: this is a normalizer: write it before the aggregator
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | weighted_sum | softmax, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: late_projection
// sentence: fovea: project(...) comes first: write it before the score function
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | project(as_is, as_is, as_is, heads<8>) | softmax | weighted_sum, x, result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: late_rescore
// sentence: fovea: rescore changes the score: write it after the score function and before the mask
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | rescore(2 * score) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(2 * score) | causal | softmax | weighted_sum, x, result);
#endif
}

// case: late_reweight
// sentence: fovea: reweight changes the weights: write it after the normalizer and before the aggregator
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | reweight(2 * weight), x, result);
#else
    reference::attend(scaled_dot | softmax | reweight(2 * weight) | weighted_sum, x, result);
#endif
}

// case: late_score
// sentence: fovea: this is a score function: write it before the mask, the normalizer and the aggregator
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(softmax | scaled_dot | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: list_of_keys_negated
// sentence: fovea: a mask that lists keys cannot be negated: list the other keys
void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | !neighbors(edges) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, result);
#endif
}

// case: list_of_keys_widened
// sentence: fovea: a mask that lists keys cannot be widened by `||`: add the keys to its list
void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | (neighbors(edges) || causal) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | (neighbors(edges) && causal) | softmax | weighted_sum, x, result);
#endif
}

// case: or_without_parentheses
// sentence: fovea: `|` binds tighter than `||`: put parentheses around the mask
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal || sliding_window(8, 8) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | (causal || sliding_window(8, 8)) | softmax | weighted_sum, x, result);
#endif
}

// case: rescore_without_score
// sentence: fovea: there is no score to rescore yet: write a score function before it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(rescore(2 * score) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(2 * score) | softmax | weighted_sum, x, result);
#endif
}

// case: reweight_without_weights
// sentence: fovea: there are no weights to change yet: write a normalizer such as softmax before reweight
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | reweight(2 * weight) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | reweight(2 * weight) | weighted_sum, x, result);
#endif
}

// case: second_aggregator
// sentence: fovea: this specification already has an aggregator; another cannot be added after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: second_normalizer
// sentence: fovea: this specification already has a normalizer; another cannot be added after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | hardmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: second_projection
// sentence: fovea: this specification already has a projection; another cannot be added after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(
        project(as_is, as_is, as_is) | project(as_is, as_is, as_is, heads<8>) | scaled_dot | softmax | weighted_sum, x,
        result);
#else
    reference::attend(project(as_is, as_is, as_is, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: second_score
// sentence: fovea: this specification already has a score function; another cannot be added after it: to change the
// score, use rescore(expression of score)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(2 * score) | softmax | weighted_sum, x, result);
#endif
}

// case: two_lists_of_keys
// sentence: fovea: both masks list the keys of each query; a specification takes one list of keys; add conditions to it
void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | neighbors(edges) | neighbors(edges) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighbors(edges) | causal | softmax | weighted_sum, x, result);
#endif
}
