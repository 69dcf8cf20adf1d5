// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <array>
#include <cstdint>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

// case: bias_of_another_type
// sentence: fovea: the matrix of a projection and its bias have elements of one type
auto projection_of(view<float const, 2> w, std::vector<double> const& wide, std::vector<float> const& bias) {
#ifdef FOVEA_BROKEN
    static_cast<void>(bias);
    return project(linear(w, wide), as_is, as_is);
#else
    static_cast<void>(wide);
    return project(linear(w, bias), as_is, as_is);
#endif
}

// case: layer_normalized_by_two_types
// sentence: fovea: the gain and the bias of layer_normalized have elements of one type
auto normalized_by(std::vector<float> const& gain, std::vector<double> const& wide, std::vector<float> const& bias) {
#ifdef FOVEA_BROKEN
    static_cast<void>(bias);
    return project(as_is | layer_normalized(gain, wide), as_is, as_is);
#else
    static_cast<void>(wide);
    return project(as_is | layer_normalized(gain, bias), as_is, as_is);
#endif
}

// case: residual_of_a_vector
// sentence: fovea: residual adds rows that are (position, feature) or (batch, position, feature)
void call(view<float, 2> x, std::vector<float> const& features, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | residual(features), x, result);
#else
    static_cast<void>(features);
    attend(scaled_dot | softmax | weighted_sum | residual(x), x, result);
#endif
}

// case: edge_without_a_list_of_keys
// sentence: fovea: edge is the number of an edge in a list of keys: add a mask that lists them, such as
// neighbors(graph)
void call(view<float, 2> x, view<float, 2> result, view<float const, 1> table, graph_view g) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[edge]) | causal | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[edge]) | neighbors(g) | softmax | weighted_sum, x,
                      result);
#endif
}

// case: expression_for_an_integer
// sentence: fovea: this argument is an integer; what was given does not convert to one
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sliding_window(q_idx / 2, 0) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | where(kv_idx <= q_idx && q_idx - kv_idx <= q_idx / 2) | softmax | weighted_sum, x, result);
#endif
}

// case: index_not_an_integer
// sentence: fovea: the index of a table must be an integer expression
void call(view<float, 2> x, view<float, 2> result, view<float, 1> table) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score + param(table)[kv_idx / 2.f]) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | rescore(score + param(table)[kv_idx / 2]) | softmax | weighted_sum, x, result);
#endif
}

// case: matrix_of_another_rank
// sentence: fovea: the matrix of a projection is (in, out) and its bias (out)
auto projection_of(std::vector<float> const& w) {
#ifdef FOVEA_BROKEN
    return project(w, as_is, as_is);
#else
    return project(view(w, {8, w.size() / 8}), as_is, as_is);
#endif
}

// case: neighbors_of_a_number
// sentence: fovea: neighbors takes a graph or a graph_view: the keys that each query sees
std::vector<graph::edge> const edges{{0, 0}};
graph const listed(1, edges);

#ifdef FOVEA_BROKEN
auto made = neighbors(3);
#else
auto made = neighbors(listed);
#endif

// case: operand_before_a_pipe
// sentence: fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of attend
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(x | scaled_dot | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: operand_behind_a_pipe
// sentence: fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of attend
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | x | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: opposite_of_a_number
// sentence: fovea: this is a number, and a condition is needed: compare it, as in x != 0
void call(view<float const, 3> x, view<float, 3> y) {
#ifdef FOVEA_BROKEN
    attend(dot | where(!(kv_idx % 2)) | softmax | weighted_sum, x, y);
#else
    attend(dot | where(!(kv_idx % 2 != 0)) | softmax | weighted_sum, x, y);
#endif
}

// case: param_of_braces
// sentence: fovea: param keeps a view, and braces make a list that is destroyed at the end of the statement: give the
// numbers a name
constexpr std::array head_scales{1.f, 2.f, 3.f};

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | rescore(score * param({1.f, 2.f, 3.f})[head]) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | rescore(score * param(head_scales)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: project_by_raw_bits
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
void call(view<float, 2> x, view<float, 2> result, view<std::uint16_t const, 2> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(project(bits, as_is, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#else
    auto const w = view(reinterpret_cast<float16 const*>(bits.data), {8, 8});
    reference::attend(project(w, as_is, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: real_for_an_integer
// sentence: fovea: this argument is an integer; a real number was given
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | top_k_softmax(0.9) | weighted_sum, x, result);
#else
    attend(scaled_dot | top_k_softmax(9) | weighted_sum, x, result);
#endif
}

// case: seed_that_is_an_expression
// sentence: fovea: this argument is an integer; what was given does not convert to one
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | gumbel(head) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | gumbel(7) | softmax | weighted_sum, x, result);
#endif
}

// case: sink_of_a_key
// sentence: fovea: a sink is one number for each row: it may use head, batch, q_idx and lengths
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax_with_sink(0.1f * kv_idx) | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | softmax_with_sink(0.1f * head) | weighted_sum, x, result);
#endif
}

// case: table_for_a_number
// sentence: fovea: this word takes a number or an expression: index a table, as param(t)[head]
void call(view<float, 2> x, view<float, 2> result, std::vector<float> const& caps) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softcap(caps) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softcap(param(caps)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: template_without_arguments
// alone: the sentence of word_without_arguments, of the same types
// sentence: fovea: this word takes arguments: write them in parentheses after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softcap | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softcap(30) | softmax | weighted_sum, x, result);
#endif
}

// case: threads_behind_a_pipe
// sentence: fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of attend
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum | threads(2), x, result);
#else
    attend(threads(2), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: word_with_a_number
// sentence: fovea: this word takes no arguments: write it without parentheses
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax(0.5) | weighted_sum, x, result);
#else
    attend(scaled_dot | temperature(0.5) | softmax | weighted_sum, x, result);
#endif
}

// case: word_with_empty_parentheses
// alone: the sentence of word_without_arguments, of the same types
// sentence: fovea: this word takes arguments: write them in parentheses after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | temperature() | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | temperature(0.5) | softmax | weighted_sum, x, result);
#endif
}

// case: word_with_parentheses
// sentence: fovea: this word takes no arguments: write it without parentheses
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax() | weighted_sum, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: word_with_too_few_arguments
// sentence: fovea: this word takes another number of arguments: its reference page says which
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sliding_window(4) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | sliding_window(4, 0) | softmax | weighted_sum, x, result);
#endif
}

// case: word_with_too_many_arguments
// sentence: fovea: this word takes another number of arguments: its reference page says which
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softcap(30, 50) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | softcap(30) | softmax | weighted_sum, x, result);
#endif
}

// case: word_without_arguments
// sentence: fovea: this word takes arguments: write them in parentheses after it
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | sliding_window | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | sliding_window(256, 0) | softmax | weighted_sum, x, result);
#endif
}
