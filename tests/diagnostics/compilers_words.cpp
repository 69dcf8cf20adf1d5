// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include <algorithm>
#include <type_traits>

using namespace fovea;
using namespace fovea::placeholders;

// case: clamp_of_std
// gcc: no matching function for call to 'clamp(
// clang: no matching function for call to 'clamp'
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(std::clamp(score, -30.f, 30.f)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(max(min(score, 30.f), -30.f)) | softmax | weighted_sum, x, result);
#endif
}

// case: function_with_too_many_arguments
// gcc: no matching function for call to 'max(
// clang: no matching function for call to 'max'
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(max(score, 0.f, 1.f)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(max(score, 0.f)) | softmax | weighted_sum, x, result);
#endif
}

// case: heads_at_run_time
// gcc: 'n' is not a constant expression
// clang: non-type template argument is not a constant expression
void call(view<float, 2> x, view<float, 2> result, view<float, 2> w, int n) {
#ifdef FOVEA_BROKEN
    attend(project(w, w, w, heads<n>) | scaled_dot | softmax | weighted_sum, x, result);
#else
    if (n == 8) attend(project(w, w, w, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
    else attend(project(w, w, w, heads<4>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: heads_without_a_number
// gcc: missing template arguments before
// clang: use of variable template 'heads' requires template arguments
void call(view<float, 2> x, view<float, 2> result, view<float, 2> w) {
#ifdef FOVEA_BROKEN
    attend(project(w, w, w, heads(8)) | scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(project(w, w, w, heads<8>) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: index_of_an_array
// gcc: no match for 'operator[]'
// clang: no viable overloaded operator[]
float const slopes[] = {0.5f, 0.25f};

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * slopes[head]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(slopes)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: maximum_of_std
// gcc: no matching function for call to 'max(
// clang: no matching function for call to 'max'
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(std::max(score, 0.f)) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(max(score, 0.f)) | softmax | weighted_sum, x, result);
#endif
}

// case: names_of_std
// gcc: reference to 'decay' is ambiguous
// clang: reference to 'decay' is ambiguous
using namespace std;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | decay(0.5) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | fovea::decay(0.5) | softmax | weighted_sum, x, result);
#endif
}
