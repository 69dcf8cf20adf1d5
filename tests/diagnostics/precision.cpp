// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;

// case: precision_before_the_sum
// sentence: fovea: precision says how weighted sums are computed: write it after weighted_sum
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | precision(bf16x3) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | precision(bf16x3), x, result);
#endif
}

// case: precision_first
// sentence: fovea: precision says how weighted sums are computed: write it after weighted_sum
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(precision(bf16x3) | scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | precision(bf16x3), x, result);
#endif
}

// case: precision_in_double
// sentence: fovea: this call is computed in double, of which bfloat16 keep few bits: leave out precision(...)
void call(view<double, 2> x, view<double, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | precision(bf16x3), x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: rounded_queries_in_double
// sentence: fovea: this call is computed in double, of which q8 keeps few bits: leave out precision(...)
void call(view<double, 2> x, view<double, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | precision(q8), x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: precision_of_a_maximum
// sentence: fovea: this aggregator is no sum of products: leave out precision(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | max_pool | precision(bf16x3), x, result);
#else
    reference::attend(scaled_dot | softmax | max_pool, x, result);
#endif
}

// case: precision_of_a_number
// sentence: fovea: precision takes bf16x2, bf16x3 or q8: what stands for each number
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | precision(3), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | precision(bf16x3), x, result);
#endif
}

// case: precision_of_edges
// sentence: fovea: this mask lists the keys of each query, and no matrix is multiplied: leave out precision(...)
void call(view<float, 2> x, view<float, 2> result, graph_view edges) {
#ifdef FOVEA_BROKEN
    explain(scaled_dot | neighbors(edges) | softmax | weighted_sum | precision(bf16x3), x, x, x, result);
#else
    explain(scaled_dot | neighbors(edges) | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: precision_of_a_state
// sentence: fovea: a running state is computed in the type of the arithmetic: leave out precision(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | running_state | precision(bf16x3), x, result);
#else
    reference::attend(dot | causal | unnormalized | running_state, x, result);
#endif
}

// case: second_precision
// sentence: fovea: this specification already has a precision: another cannot be added after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | precision(bf16x2) | precision(bf16x3), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | precision(bf16x3), x, result);
#endif
}
