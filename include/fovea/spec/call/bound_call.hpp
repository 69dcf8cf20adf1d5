// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call whose arguments have been bound to what they mean: the one form in which calls are run, defined and explained.
#pragma once

#include <fovea/spec/outputs.hpp>
#include <fovea/spec/projected_shapes.hpp>

#include <tuple>

namespace fovea::FOVEA_SET {

/// bound_call: the arguments of a call, all (batch, head, position, feature), the outputs that it asks for, and the
/// extents of its operands as the score sees them, once it is checked.
template <class QueryRows, class KeyRows, class ValueRows, class Result, class... Asked>
struct bound_call {
    using query_element = element_of_rows<QueryRows>;
    using result_element = std::remove_pointer_t<decltype(Result::data)>;
    /// The type of the arithmetic.
    using number = compute_type<query_element, element_of_rows<KeyRows>, element_of_rows<ValueRows>, result_element>;
    using outputs_type = std::tuple<decltype(std::declval<Asked const&>().bind(operand_shapes{}))...>;

    QueryRows query;
    KeyRows key;
    ValueRows value;
    Result result;
    std::tuple<Asked...> asked{};
    operand_shapes shapes{};

    /// The outputs, bound to the extents of the call.
    FOVEA_INLINE outputs_type outputs() const {
        return std::apply([&](auto const&... each) { return outputs_type(each.bind(shapes)...); }, asked);
    }
    /// Whether there is nothing to write: then a call returns at once, however many heads or batch elements are empty.
    FOVEA_INLINE bool writes_nothing() const {
        return result.empty()
            && std::apply([](auto const&... output) { return (output.target.empty() && ...); }, outputs());
    }
};

}  // namespace fovea::FOVEA_SET
