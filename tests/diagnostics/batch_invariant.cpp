// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using namespace fovea;

// case: batch_invariant_before_the_sum
// sentence: fovea: batch_invariant says how weighted sums are computed: write it after weighted_sum
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | batch_invariant | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#endif
}

// case: batch_invariant_first
// sentence: fovea: batch_invariant says how weighted sums are computed: write it after weighted_sum
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(batch_invariant | scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#endif
}

// case: batch_invariant_twice
// sentence: fovea: this specification already has batch_invariant: leave out one of them
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | batch_invariant | batch_invariant, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#endif
}

// case: batch_invariant_of_a_maximum
// sentence: fovea: this aggregator is no sum of products: leave out batch_invariant
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | max_pool | batch_invariant, x, result);
#else
    attend(scaled_dot | softmax | max_pool, x, result);
#endif
}

// case: batch_invariant_of_a_state
// sentence: fovea: a running state has one order of its own: leave out batch_invariant
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(dot | causal | unnormalized | running_state | batch_invariant, x, result);
#else
    attend(dot | causal | unnormalized | running_state, x, result);
#endif
}

// case: batch_invariant_in_parts
// sentence: fovea: batch_invariant has an arithmetic of its own: leave out precision(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | precision(bf16x3) | batch_invariant, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#endif
}

// case: parts_of_batch_invariant
// sentence: fovea: batch_invariant has an arithmetic of its own: leave out precision(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | batch_invariant | precision(bf16x3), x, result);
#else
    attend(scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#endif
}

// case: batch_invariant_whole_rows
// sentence: fovea: batch_invariant takes keys block by block, and a normalizer, reweighting or output of this call
// reads whole rows: leave it out
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sparsemax | weighted_sum | batch_invariant, x, result);
#else
    attend(scaled_dot | sparsemax | weighted_sum, x, result);
#endif
}

// case: batch_invariant_edges
// sentence: fovea: this mask lists the keys of each query: leave out batch_invariant
void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | neighbors(edges) | softmax | weighted_sum | batch_invariant, x, result);
#else
    attend(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, result);
#endif
}
