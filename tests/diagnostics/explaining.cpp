// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

#include <string>
#include <vector>

using namespace fovea;

// case: explained_by_a_pointer
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
std::string call(float const* x) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum, x, x, x);
#else
    return explain(scaled_dot | softmax | weighted_sum, view(x, {4, 8}));
#endif
}

// case: explained_output_without_result
// sentence: fovea: lse(...), weights(...) and other outputs come after the result
std::string call(view<float, 2> x, view<float, 2> result, view<float, 2> pairs) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum, x, weights(pairs));
#else
    return explain(scaled_dot | softmax | weighted_sum, x, result, weights(pairs));
#endif
}

// case: explained_ragged
// sentence: fovea: ragged(...) runs one call for each sequence: explain that of one sequence, without ragged
std::string call(std::vector<int> const& offsets, view<float const, 2> x) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    return explain(threads(2), ragged(offsets), spec, x);
#else
    return explain(spec, view(x.data, {offsets[1], x.extent(1)}));
#endif
}

// case: explained_specification_last
// sentence: fovea: the specification comes first: attend(specification, query, key, value, result), with its
// parts joined by `|`
std::string call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    return explain(x, scaled_dot | softmax | weighted_sum);
#else
    return explain(scaled_dot | softmax | weighted_sum, x);
#endif
}

// case: explained_with_a_workspace_before_threads
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
std::string call(view<float, 2> x, workspace& scratch) {
#ifdef FOVEA_BROKEN
    return explain(scratch, threads(2), scaled_dot | softmax | weighted_sum, x);
#else
    return explain(threads(2), scratch, scaled_dot | softmax | weighted_sum, x);
#endif
}

// case: explained_without_operands
// sentence: fovea: an operand or the result is missing: attend(specification, query, key, value, result),
// attend(specification, x, result) or attend(specification, queries(x), memory(m), result)
std::string call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum);
#else
    return explain(scaled_dot | softmax | weighted_sum, x);
#endif
}
