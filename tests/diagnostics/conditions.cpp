// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: bitwise_and_of_conditions
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where((q_idx >= kv_idx) & (kv_idx < 3)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(q_idx >= kv_idx && kv_idx < 3) | softmax | weighted_sum, x, result);
#endif
}

// case: bitwise_and_of_mask_and_condition
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (causal & (kv_idx < 5)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | (causal && kv_idx < 5) | softmax | weighted_sum, x, result);
#endif
}

// case: bitwise_not_of_a_mask
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result, view<int const, 1> ids) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | ~document(ids) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | !document(ids) | softmax | weighted_sum, x, result);
#endif
}

// case: bitwise_or_of_conditions
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where((q_idx > kv_idx) | (kv_idx < 3)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(q_idx > kv_idx || kv_idx < 3) | softmax | weighted_sum, x, result);
#endif
}

// case: bitwise_xor_of_masks
// sentence: fovea: there are no bitwise operators: combine conditions and masks by &&, || and !
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (sliding_window(4, 4) ^ causal) | softmax | weighted_sum, x, result);
#else
    attend(
        scaled_dot | ((causal || sliding_window(4, 4)) && !(causal && sliding_window(4, 4))) | softmax | weighted_sum,
        x, result);
#endif
}

// case: branch_in_a_lambda
// sentence: fovea: no value is known while an expression is built: use select(condition, a, b)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore([](auto s, auto) {
                          if (s > 0) return 2 * s;
                          return 3 * s;
                      }) | softmax
                          | weighted_sum,
                      x, result);
#else
    reference::attend(
        scaled_dot | rescore([](auto s, auto) { return select(s > 0, 2 * s, 3 * s); }) | softmax | weighted_sum, x,
        result);
#endif
}

// case: branch_on_an_expression
// sentence: fovea: no value is known while an expression is built: use select(condition, a, b)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score < 0 ? 3 * score : 2 * score) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(select(score < 0, 3 * score, 2 * score)) | softmax | weighted_sum, x,
                      result);
#endif
}

// case: condition_as_a_number
// sentence: fovea: a condition is not a number: write select(condition, x, 0)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + 5 * (q_idx == kv_idx)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + select(q_idx == kv_idx, 5, 0)) | softmax | weighted_sum, x, result);
#endif
}

// case: condition_beside_a_number
// sentence: fovea: a condition is not a number: write select(condition, x, 0)
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | where((kv_idx < q_idx) == 1) | softmax | weighted_sum, x, y);
#else
    attend(dot | where((kv_idx < q_idx) == true) | softmax | weighted_sum, x, y);
#endif
}

// case: condition_without_where
// sentence: fovea: this is an expression: write where(condition), rescore(scores) or reweight(weights)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | (kv_idx <= q_idx) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx <= q_idx) | softmax | weighted_sum, x, result);
#endif
}

// case: function_of_a_condition
// sentence: fovea: a condition is not a number: write select(condition, x, 0)
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | rescore(score * exp(kv_idx < q_idx)) | softmax | weighted_sum, x, y);
#else
    attend(dot | rescore(score * exp(select(kv_idx < q_idx, 1, 0))) | softmax | weighted_sum, x, y);
#endif
}

// case: number_as_a_condition
// sentence: fovea: this is a number, and a condition is needed: compare it, as in x != 0
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | rescore(select(kv_idx % 2, score, 0)) | softmax | weighted_sum, x, y);
#else
    attend(dot | rescore(select(kv_idx % 2 != 0, score, 0)) | softmax | weighted_sum, x, y);
#endif
}
