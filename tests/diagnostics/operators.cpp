// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

// case: assignment_of_an_expression
// sentence: fovea: an expression never changes: give the new one a name: auto const t = s + 1
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    auto s = score * 2;
    s = s + 1;
    attend(scaled_dot | rescore(s) | softmax | weighted_sum, x, result);
#else
    auto const s = score * 2;
    attend(scaled_dot | rescore(s + 1) | softmax | weighted_sum, x, result);
#endif
}

// case: assignment_to_an_index
// sentence: fovea: an expression never changes: give the new one a name: auto const t = s + 1
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    kv_idx = q_idx;
    attend(scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx == q_idx) | softmax | weighted_sum, x, result);
#endif
}

// case: assignment_to_itself
// sentence: fovea: an expression never changes: give the new one a name: auto const t = s + 1
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore([](auto s, auto at) { return s += 2 * at.kv_idx; }) | softmax | weighted_sum, x,
           result);
#else
    attend(scaled_dot | rescore([](auto s, auto at) { return s + 2 * at.kv_idx; }) | softmax | weighted_sum, x, result);
#endif
}

// case: cast_to_double
// sentence: fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score / double(kv_idx + 1)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score / real(kv_idx + 1)) | softmax | weighted_sum, x, result);
#endif
}

// case: cast_to_float
// sentence: fovea: no number yet: write real(x), not float(x)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score / static_cast<float>(kv_idx + 1)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score / real(kv_idx + 1)) | softmax | weighted_sum, x, result);
#endif
}

// case: floor_div_of_reals
// sentence: fovea: floor_div needs integers
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(floor_div(kv_idx, 2.5f) == 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(floor_div(kv_idx, 2) == 0) | softmax | weighted_sum, x, result);
#endif
}

// case: function_of_std
// sentence: fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(std::tanh(score)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(tanh(score)) | softmax | weighted_sum, x, result);
#endif
}

// case: function_of_std_in_a_mask
// sentence: fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where(std::abs(q_idx - kv_idx) < 4) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(abs(q_idx - kv_idx) < 4) | softmax | weighted_sum, x, result);
#endif
}

// case: function_of_std_of_two
// sentence: fovea: no number yet: write tanh(x), not std::tanh(x), and real(x), not double(x)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * std::pow(2.f, -(head + 1))) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * pow(2.f, -(head + 1))) | softmax | weighted_sum, x, result);
#endif
}

// case: increment_of_an_index
// sentence: fovea: an expression never changes: give the new one a name: auto const t = s + 1
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    auto next = q_idx;
    ++next;
    attend(scaled_dot | where(kv_idx <= next) | softmax | weighted_sum, x, result);
#else
    auto const next = q_idx + 1;
    attend(scaled_dot | where(kv_idx <= next) | softmax | weighted_sum, x, result);
#endif
}

// case: modulo_of_reals
// sentence: fovea: % needs integers
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(kv_idx % 2.5f == 0) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(kv_idx % 2 == 0) | softmax | weighted_sum, x, result);
#endif
}

// case: placeholders_hidden
// sentence: fovea: this is a table, not an expression: write param(table), or rename the variable q or k that hides the
// placeholder
auto score_of(tensor<float, 2> const& query, tensor<float, 2> const& key) {
#ifdef FOVEA_BROKEN
    auto const &q = query, &k = key;
#endif
    static_cast<void>(query), static_cast<void>(key);
    return compare(sum(q * k));
}

[[maybe_unused]] auto const mine = score_of(tensor<float, 2>({4, 8}), tensor<float, 2>({4, 8}));

// case: quotient_of_integers_as_a_score
// sentence: fovea: this integer quotient, which `/` rounds down, would become a real: write real(x) / y, or
// floor_div(x, y) if rounding is meant
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + 2 * ((q_idx - kv_idx) / kv_len)) | softmax | weighted_sum, x,
                      result);
#else
    reference::attend(scaled_dot | rescore(score + 2 * real(q_idx - kv_idx) / kv_len) | softmax | weighted_sum, x,
                      result);
    reference::attend(scaled_dot | rescore(score - floor_div(q_idx, 16)) | softmax | weighted_sum, x, result);
#endif
}

// case: quotient_of_integers_beside_a_real
// sentence: fovea: this integer quotient, which `/` rounds down, would become a real: write real(x) / y, or
// floor_div(x, y) if rounding is meant
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | where(kv_idx / kv_len < 0.5f) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | where(real(kv_idx) / kv_len < 0.5f && kv_idx / 2 < 9) | softmax | weighted_sum, x,
                      result);
#endif
}

// case: shift_of_an_index
// sentence: fovea: there are no shifts: write i * 4 for i << 2, and i / 4 for i >> 2
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | where((kv_idx >> 4) == 2) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx / 16 == 2) | softmax | weighted_sum, x, result);
#endif
}
