// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

/// Adds one to each feature.
struct shifted_t {
    using head_map_tag = void;
    template <class Row>
    static void apply(Row const& row, head_place const&) {
        row.map([](auto x) { return x + 1; });
    }
#ifdef FOVEA_BROKEN
    static constexpr bool linear = false;
#else
    template <class Row>
    static void gradient(Row const&, Row const&, head_place const&) {}
#endif
    static std::string text() { return "shifted"; }
};

// case: gradient_asked_of_attend
// sentence: fovea: grad(...) is asked of gradient, which takes the gradient of the result
void call(view<float, 2> x, view<float, 2> result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, result, grad(x, d_x));
#else
    gradient(scaled_dot | softmax | weighted_sum, x, result, grad(x, d_x));
#endif
}

// case: gradient_without_grad
// sentence: fovea: what gradient is asked for stands after the gradient of the result, as grad(array, target):
// gradient(specification, query, key, value, d_result, grad(query, d_query))
void call(view<float, 2> x, view<float, 2> w, view<float, 2> d_result, view<float, 2> d_w) {
    auto const spec = project(w, w, w) | scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    gradient(spec, x, d_result, d_w);
#else
    gradient(spec, x, d_result, grad(w, d_w));
#endif
}

// case: gradient_without_target
// sentence: fovea: grad takes an array and where its gradient goes: grad(W, dW)
void call(view<float, 2> x, view<float, 2> w, view<float, 2> d_result, view<float, 2> d_w) {
    auto const spec = project(w, w, w) | scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(d_w);
    gradient(spec, x, d_result, grad(w));
#else
    gradient(spec, x, d_result, grad(w, d_w));
#endif
}

// case: gradient_of_integers
// sentence: fovea: grad takes an array of reals: integers and conditions have no gradient
void call(view<float, 2> x, view<float, 2> d_result, view<int, 1> ids, view<float, 2> d_x, view<float, 1> d_ids) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | document(ids) | softmax | weighted_sum, x, d_result, grad(ids, d_ids));
    static_cast<void>(d_x);
#else
    static_cast<void>(d_ids);
    gradient(scaled_dot | document(ids) | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_with_other_axes
// sentence: fovea: grad takes an array and a target with as many axes
void call(view<float, 2> x, view<float, 2> d_result, view<float, 3> d_heads, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_heads));
    static_cast<void>(d_x);
#else
    static_cast<void>(d_heads);
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_into_const
// sentence: fovea: the target of grad is a view of const elements and cannot be written
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, view<float const, 2>(d_x)));
#else
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_beside_other_outputs
// sentence: fovea: after the gradient of the result gradient takes grad(array, target), once or more, and no other
// output
void call(view<float, 2> x, view<float, 2> d_result, view<float, 1> sums, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x), lse(sums));
#else
    static_cast<void>(sums);
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_of_nothing
// sentence: fovea: what gradient is asked for stands after the gradient of the result, as grad(array, target):
// gradient(specification, query, key, value, d_result, grad(query, d_query))
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    static_cast<void>(d_x);
    gradient(scaled_dot | softmax | weighted_sum, x, d_result);
#else
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_of_hardmax
// sentence: fovea: this normalizer has no gradient: give it gradient(row), or write softmax, sparsemax or, for hardmax,
// straight_through in its place
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | hardmax | weighted_sum, x, d_result, grad(x, d_x));
#else
    gradient(scaled_dot | straight_through | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_of_max_pool
// sentence: fovea: this aggregator has no gradient: write weighted_sum in its place
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | softmax | max_pool, x, d_result, grad(x, d_x));
#else
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: gradient_of_own_map_of_heads
// sentence: fovea: this map of heads has no gradient: give it gradient(x, d, place), or linear
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
    auto const spec = project(as_is | shifted_t(), as_is, as_is) | scaled_dot | softmax | weighted_sum;
    gradient(spec, x, d_result, grad(x, d_x));
}

// case: gradient_of_a_weighted_sum_from_a_state
// sentence: fovea: past_state, present_state and d_present_state belong to an attention with running_state
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> state, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(dot | causal | unnormalized | weighted_sum, x, d_result, past_state(state), grad(x, d_x));
#else
    gradient(dot | causal | unnormalized | running_state, x, d_result, past_state(state), grad(x, d_x));
#endif
}

// case: gradient_of_a_state_in_attend
// sentence: fovea: d_present_state(...) is given to gradient, which takes the gradient of the result
void call(view<float, 2> x, view<float, 2> result, view<float, 2> state, view<float, 2> d_x) {
    auto const spec = dot | causal | unnormalized | running_state;
#ifdef FOVEA_BROKEN
    static_cast<void>(d_x);
    attend(spec, x, result, d_present_state(state));
#else
    gradient(spec, x, result, d_present_state(state), grad(x, d_x));
#endif
}

// case: gradient_of_lse_in_attend
// sentence: fovea: d_lse(...) is given to gradient, which takes the gradient of the result
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums, view<float, 2> d_x) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(d_x);
    attend(spec, x, result, d_lse(sums));
#else
    gradient(spec, x, result, d_lse(sums), grad(x, d_x));
#endif
}

// case: gradient_of_lse_of_another_type
// sentence: fovea: d_lse has numbers of another type than this call computes in
void call(view<float, 2> x, view<float, 2> d_result, view<double, 1> doubles, view<float, 1> floats,
          view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    static_cast<void>(floats);
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, d_lse(doubles), grad(x, d_x));
#else
    static_cast<void>(doubles);
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, d_lse(floats), grad(x, d_x));
#endif
}

// case: gradient_of_lse_without_one
// sentence: fovea: d_lse is the gradient of the log-sum-exp of softmax or a relative, without reweight after it
void call(view<float, 2> x, view<float, 2> d_result, view<float, 1> sums, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(scaled_dot | sparsemax | weighted_sum, x, d_result, d_lse(sums), grad(x, d_x));
#else
    gradient(scaled_dot | softmax_plus_one | weighted_sum, x, d_result, d_lse(sums), grad(x, d_x));
#endif
}

// case: gradient_of_weights_in_attend
// sentence: fovea: d_weights and d_entropy are given to gradient, which takes the gradient of the result
void call(view<float, 2> x, view<float, 2> result, view<float, 2> all, view<float, 2> d_x) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(d_x);
    attend(spec, x, result, d_weights(all));
#else
    gradient(spec, x, result, d_weights(all), grad(x, d_x));
#endif
}

// case: gradient_of_weights_of_another_type
// sentence: fovea: d_weights or d_entropy has numbers of another type than this call computes in
void call(view<float, 2> x, view<float, 2> d_result, view<double, 1> doubles, view<float, 1> floats, view<float, 2> d_x,
          int) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(floats);
    gradient(spec, x, d_result, d_entropy(doubles), grad(x, d_x));
#else
    static_cast<void>(doubles);
    gradient(spec, x, d_result, d_entropy(floats), grad(x, d_x));
#endif
}

// case: gradient_of_weights_of_a_state
// sentence: fovea: d_weights and d_entropy belong to weights, and a running state has none
void call(view<float, 3> x, view<float, 3> d_result, view<float, 3> all, view<float, 3> d_x) {
#ifdef FOVEA_BROKEN
    gradient(dot | causal | unnormalized | running_state, x, d_result, d_weights(all), grad(x, d_x));
#else
    gradient(dot | causal | unnormalized | weighted_sum, x, d_result, d_weights(all), grad(x, d_x));
#endif
}

// case: gradient_of_ragged_weights
// sentence: fovea: d_weights and d_entropy are of one sequence: ask for gradients of a ragged batch sequence by
// sequence
void call(view<float, 2> x, view<float, 2> d_result, view<float, 1> spread, view<int, 1> offsets, view<float, 2> d_x) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    gradient(ragged(offsets), spec, x, d_result, d_entropy(spread), grad(x, d_x));
#else
    static_cast<void>(offsets);
    gradient(spec, x, d_result, d_entropy(spread), grad(x, d_x));
#endif
}

// case: saved_rows_in_attend
// sentence: fovea: saved_rows are written by a call that is asked for save(state)
void call(view<float, 2> x, view<float, 2> result, saved_rows<float>& state) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, x, result, state);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result, save(state));
#endif
}

// case: saved_rows_of_other_numbers
// sentence: fovea: these saved_rows have numbers of another type than this call computes in
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    saved_rows<double> const state;
#else
    saved_rows<float> const state;
#endif
    gradient(scaled_dot | softmax | weighted_sum, x, d_result, state, grad(x, d_x));
}

// case: definition_of_gradient_in_threads
// sentence: fovea: this gradient takes no executor and no workspace
void call(view<float, 2> x, view<float, 2> d_result, std::vector<int> const& offsets, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    reference::gradient(threads(2), ragged(offsets), scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#else
    reference::gradient(ragged(offsets), scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: part_of_a_gradient
// sentence: fovea: no part(i, n) waits for another, as it would in gradients, projections, finishes, relative_values,
// column_sums, save and calls over ranks: pass an executor for these, such as bulk_executor(workers, function)
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
    constexpr auto spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    gradient(part(0, 2), spec, x, d_result, grad(x, d_x));
#else
    gradient(threads(2), spec, x, d_result, grad(x, d_x));
#endif
}
