// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/bindings/output_unit.hpp>
#include <fovea/fovea.hpp>

using namespace fovea;

// case: output_of_another_name
// sentence: fovea: a kernel for C gives lse, weights, scores, entropy, best_key or column_sums beside its result
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
    auto const kernel = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    return bindings::run_output_unit<float>(how, operands, values, kernel, bindings::outputs<"lse", "state">{});
#else
    return bindings::run_output_unit<float>(how, operands, values, kernel, bindings::outputs<"lse">{});
#endif
}

// case: weights_of_several_graphs
// sentence: fovea: weights of a kernel for C are those of the edges of one graph: it takes several
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
    auto const kernel = takes<"edges, others">([](graph_view edges, graph_view others) {
        return scaled_dot | neighbors(edges.edges() > 0 ? edges : others) | softmax | weighted_sum;
    });
#ifdef FOVEA_BROKEN
    return bindings::run_output_unit<float>(how, operands, values, kernel, bindings::outputs<"weights">{});
#else
    return bindings::run_output_unit<float>(how, operands, values, kernel, bindings::outputs<"lse">{});
#endif
}
