// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

// case: additive_of_a_temporary
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
std::vector<float> const weights_of_features(8, 1.f);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(additive(std::vector<float>(8, 1.f)) | softmax | weighted_sum, x, result);
#else
    reference::attend(additive(weights_of_features) | softmax | weighted_sum, x, result);
#endif
}

// case: bias_by_a_temporary
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
tensor<float, 2> const distances({4, 4}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(tensor<float, 2>({4, 4}, 1)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | bias(distances) | softmax | weighted_sum, x, result);
#endif
}

// case: delta_of_a_temporary
// sentence: fovea: delta keeps a view, and this container is a temporary, destroyed at the end of the statement
tensor<float, 1> const rates({8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | causal | unnormalized | running_state | delta(tensor<float, 1>({8}, 1)), x, result);
#else
    reference::attend(scaled_dot | causal | unnormalized | running_state | delta(rates), x, result);
#endif
}

// case: gain_of_a_temporary
// sentence: fovea: this word keeps a view, and this container is a temporary, destroyed at the end of the statement
std::vector<float> const gain(8, 1.f);

#ifdef FOVEA_BROKEN
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(std::vector<float>(8, 1.f));
#else
[[maybe_unused]] auto const normalized_by_gain = rms_normalized(gain);
#endif

// case: gate_of_a_temporary
// sentence: fovea: gated keeps a view, and this container is a temporary, destroyed at the end of the statement
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(dot | causal | unnormalized | running_state | gated(tensor<float, 1>({1})), x, result);
#else
    tensor<float, 1> const decay({1});
    reference::attend(dot | causal | unnormalized | running_state | gated(decay), x, result);
#endif
}

// case: merge_into_a_temporary
// sentence: fovea: the result is a temporary, destroyed at the end of the statement: give it a name
void join(tensor<float, 2> const& a, tensor<float, 1> const& lse_a, tensor<float, 2>& result) {
#ifdef FOVEA_BROKEN
    merge(a, lse_a, a, lse_a, tensor<float, 2>(result.extents));
#else
    merge(a, lse_a, a, lse_a, result);
#endif
}

// case: neighbors_in_a_temporary
// sentence: fovea: neighbors keeps a view, and this graph is a temporary, destroyed at the end of the statement
std::vector<graph::edge> const edges{{0, 1}, {2, 3}};
graph const four_nodes(4, edges);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | neighbors(graph(4, edges)) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | neighbors(four_nodes) | softmax | weighted_sum, x, result);
#endif
}

// case: output_by_a_temporary
// sentence: fovea: output keeps a view, and this matrix or bias is a temporary, destroyed at the end of the statement
tensor<float, 2> const matrix({8, 8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | output(tensor<float, 2>({8, 8}, 1)), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | output(matrix), x, result);
#endif
}

// case: output_into_a_temporary
// sentence: fovea: an additional output is a temporary, destroyed at the end of the statement: give it a name
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(std::vector<float>(4)));
#else
    std::vector<float> sums(4);
    reference::attend(scaled_dot | softmax | weighted_sum, x, result, lse(sums));
#endif
}

// case: output_plus_a_temporary
// sentence: fovea: output keeps a view, and this matrix or bias is a temporary, destroyed at the end of the statement
tensor<float, 2> const matrix({8, 8}, 1);
tensor<float, 1> const shift({8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | output(matrix, tensor<float, 1>({8}, 1)), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | output(matrix, shift), x, result);
#endif
}

// case: param_of_a_temporary
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
std::vector<double> const factors{1, 2, 3};

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score * param(std::vector<double>{1, 2, 3})[head]) | softmax | weighted_sum,
                      x, result);
#else
    reference::attend(scaled_dot | rescore(score * param(factors)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: param_of_a_temporary_tensor
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
tensor<float, 1> const factors({8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | rescore(score * param(tensor<float, 1>({8}, 1))[head]) | softmax | weighted_sum, x,
                      result);
#else
    reference::attend(scaled_dot | rescore(score * param(factors)[head]) | softmax | weighted_sum, x, result);
#endif
}

// case: project_by_a_temporary
// sentence: fovea: project keeps views, and one of these matrices is a temporary, destroyed at the end of the statement
tensor<float, 2> const matrix({8, 8}, 1);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(project(matrix, tensor<float, 2>({8, 8}, 1), as_is) | scaled_dot | softmax | weighted_sum, x,
                      result);
#else
    reference::attend(project(matrix, matrix, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: ragged_of_a_temporary
// sentence: fovea: ragged keeps a view of the offsets, and this container is a temporary, destroyed at the end of the
// statement
void call(view<float, 2> x, view<float, 2> result, std::vector<index_t> const& offsets) {
#ifdef FOVEA_BROKEN
    reference::attend(ragged(std::vector<index_t>(offsets)), scaled_dot | softmax | weighted_sum, x, result);
#else
    reference::attend(ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: temporary_result
// sentence: fovea: the result is a temporary, destroyed at the end of the statement: give it a name
void call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, x, tensor<float, 2>({4, 8}));
#else
    tensor<float, 2> result({4, 8});
    reference::attend(scaled_dot | softmax | weighted_sum, x, result);
#endif
}
