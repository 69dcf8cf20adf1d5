// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

// case: best_key_of_reals
// sentence: fovea: best_key writes positions: pass a view of integers
void call(view<float, 2> x, view<float, 2> result, view<float, 1> reals, view<int, 1> best) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, best_key(reals));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, best_key(best), lse(reals));
#endif
}

// case: const_output
// sentence: fovea: an additional output is a view of const elements and cannot be written
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(view<float const, 1>(sums)));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}

// case: const_result
// sentence: fovea: the result is a view of const elements and cannot be written
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, view<float const, 2>(result));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: lse_without_log_sum
// sentence: fovea: lse was asked for, but this normalizer has no log_sum(state)
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | unnormalized | weighted_sum, x, result, lse(sums));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}

// case: memory_without_queries
// sentence: fovea: queries(x) and memory(m) together replace query, key and value: attend(specification, queries(x),
// memory(m), result)
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, memory(x), result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, queries(x), memory(x), result);
#endif
}

// case: merge_into_const_lse
// sentence: fovea: lse is a view of const elements and cannot be written
void call(view<float, 2> part, view<float, 1> sums, view<float, 2> result, view<float, 1> all_sums) {
#ifdef FOVEA_BROKEN
    merge(part, sums, result, view<float const, 1>(all_sums));
#else
    merge(part, sums, result, all_sums);
#endif
}

// case: merge_of_pointers
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
void call(float const* first, float const* first_lse, float const* second, float const* second_lse, float* result) {
#ifdef FOVEA_BROKEN
    merge(first, first_lse, second, second_lse, result);
#else
    merge(view(first, {4, 8}), view(first_lse, {4}), view(second, {4, 8}), view(second_lse, {4}), view(result, {4, 8}));
#endif
}

// case: merge_without_lse
// sentence: fovea: merge takes pairs of a result and its lse, then the view to write
void call(view<float, 2> part, view<float, 1> sums, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    merge(part, result);
#else
    merge(part, sums, result);
#endif
}

// case: output_before_the_result
// sentence: fovea: lse(...), weights(...) and other outputs come after the result
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, lse(sums), result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, result, lse(sums));
#endif
}

// case: output_without_its_view
// sentence: fovea: this word takes arguments: write them in parentheses after it
void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] view<float, 1> log_sums) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, result, lse);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result, lse(log_sums));
#endif
}

// case: result_first
// sentence: fovea: the specification comes first: attend(specification, query, key, value, result), with its parts
// joined by `|`
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(result, scaled_dot | softmax | weighted_sum, x, x, x);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: result_in_pages
// sentence: fovea: only keys and values may be paged: pass queries and the result as views
void call(view<float, 2> x, view<float, 2> result, view<float, 4> pages, view<std::int32_t, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, x, x, paged(pages, table));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table), result);
#endif
}

// case: result_of_bool
// sentence: fovea: the result has elements of type bool, which hold no weighted sum
void call(view<float, 2> x, [[maybe_unused]] view<bool, 2> yes, [[maybe_unused]] view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, x, x, yes);
#else
    attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}

// case: weights_into_a_vector
// sentence: fovea: an output of one number for each pair is (query, key), (batch, query, key), (head, query, key) or
// (batch, head, query, key)
void call(view<float, 2> x, view<float, 2> result, std::vector<float>& w) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(w));
#else
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, weights(view(w, {4, 4})));
#endif
}
