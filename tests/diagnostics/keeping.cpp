// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using namespace fovea;
using namespace fovea::placeholders;

// case: keep_after_normalizer
// sentence: fovea: keep chooses the keys that are normalized: write it after the masks and before the normalizer
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | keep(top_k(8)) | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(8)) | softmax | weighted_sum, x, result);
#endif
}

// case: keep_before_a_running_state
// sentence: fovea: a running state holds no single keys: keep has none to choose from
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(dot | keep(top_k(8)) | unnormalized | running_state, x, result);
#else
    attend(dot | unnormalized | running_state, x, result);
#endif
}

// case: keep_of_a_number
// sentence: fovea: keep takes a selection: top_k(k), top_p(p), min_p(p), threshold(t), or one of your own
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(5) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(5)) | softmax | weighted_sum, x, result);
#endif
}

// case: keep_without_arguments
// sentence: fovea: this word takes arguments: write them in parentheses after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(5)) | softmax | weighted_sum, x, result);
#endif
}

// case: keep_without_normalizer
// sentence: fovea: this specification has no normalizer: write `| softmax`, or `| unnormalized` if the scores are the
// weights
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(top_k(8)) | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(8)) | unnormalized | weighted_sum, x, result);
#endif
}

// case: mask_after_keep
// sentence: fovea: keep chooses among the keys that a query sees: write the mask before it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(top_k(8)) | causal | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | causal | keep(top_k(8)) | softmax | weighted_sum, x, result);
#endif
}

// case: not_a_selection
// sentence: fovea: this is not a selection: give it least(), least(row), or for_row(at)
struct halves : key_selection {
    static constexpr std::string_view name = "halves";
#ifndef FOVEA_BROKEN
    template <class Row>
    static auto least(Row const& row) {
        return row.max() / 2;
    }
#endif
};
void call(view<float, 2> x, view<float, 2> result) {
    attend(scaled_dot | keep(halves{}) | softmax | weighted_sum, x, result);
}

// case: real_number_of_keys
// sentence: fovea: this argument is an integer; a real number was given
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(top_k(0.5)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_p(0.5)) | softmax | weighted_sum, x, result);
#endif
}

// case: selection_without_keep
// sentence: fovea: this is a selection: write keep(...) around it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | top_k(8) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(8)) | softmax | weighted_sum, x, result);
#endif
}

// case: selections_joined
// sentence: fovea: selections follow each other: write keep(...) | keep(...)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(top_k(50) && min_p(0.1f)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(top_k(50)) | keep(min_p(0.1f)) | softmax | weighted_sum, x, result);
#endif
}

// case: share_of_an_expression
// sentence: fovea: top_p and min_p take one number for all rows, such as 0.9
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(min_p(0.1f * head)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(min_p(0.1f)) | softmax | weighted_sum, x, result);
#endif
}

// case: threshold_of_a_key
// sentence: fovea: a threshold is one number for each row: it may use head, batch, q_idx and lengths
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | keep(threshold(0.1f * kv_idx)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | keep(threshold(0.1f * q_idx)) | softmax | weighted_sum, x, result);
#endif
}
