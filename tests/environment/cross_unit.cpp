// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are read for a processor by a compiler on another machine: every traversal and its gradient, 16-bit
// operands, and pages beside rows, whose types differ.
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

using namespace fovea;
using namespace fovea::placeholders;

template <class T>
void dense(view<T const, 4> rows, view<T, 4> result) {
    attend(scaled_dot | causal | softmax | weighted_sum, rows, rows, rows, result);
    attend(scaled_dot | keep(top_k(3)) | softmax | weighted_sum, rows, rows, rows, result);
}

void run(view<float const, 4> rows, view<float, 4> result, view<bfloat16 const, 4> rows_bf16,
         view<bfloat16, 4> result_bf16, view<float16 const, 4> rows_f16, view<float16, 4> result_f16, graph_view edges,
         paged_rows<bfloat16> pages) {
    dense(rows, result);
    dense(rows_bf16, result_bf16);
    dense(rows_f16, result_f16);
    attend(scaled_dot | neighbors(edges) | softmax | weighted_sum, rows, rows, rows, result);
    attend(feature_map(elu(q) + 1) | causal | proportional | running_state, rows, rows, rows, result);
    gradient(scaled_dot | causal | softmax | weighted_sum, rows, rows, rows, rows, grad(rows, result));
    gradient(scaled_dot | neighbors(edges) | softmax | weighted_sum, rows, rows, rows, rows, grad(rows, result));
    gradient(feature_map(elu(q) + 1) | causal | proportional | running_state, rows, rows, rows, rows,
             grad(rows, result));
    gradient(scaled_dot | causal | softmax | weighted_sum, rows_bf16, pages, pages, rows_bf16, grad(rows_bf16, result));
}
