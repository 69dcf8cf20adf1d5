// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call whose arguments have been bound to what they mean: the one form in which calls are run, defined and explained.
#pragma once

#include <fovea/spec/outputs.hpp>
#include <fovea/spec/projected_shapes.hpp>

#include <tuple>

namespace fovea::FOVEA_SET {

/// bound_call: the arguments of a call, all (batch, head, position, feature), what its outputs are bound to, and the
/// extents of its operands as the score sees them.
template <class Q, class KeyRows, class ValueRows, class Out, class Outputs = std::tuple<>>
struct bound_call {
    using result_element = Out;
    using outputs_type = Outputs;
    /// The type of the arithmetic.
    using number = compute_type<std::remove_const_t<Q>, element_of_rows<KeyRows>, element_of_rows<ValueRows>, Out>;

    view<Q, 4> query;
    KeyRows key;
    ValueRows value;
    view<Out, 4> result;
    Outputs outputs{};
    operand_shapes shapes{};

    /// Whether there is nothing to write: then a call returns at once, however many heads or batch elements are empty.
    FOVEA_INLINE bool writes_nothing() const {
        return result.empty()
            && std::apply([](auto const&... output) { return (output.target.empty() && ...); }, outputs);
    }
};

}  // namespace fovea::FOVEA_SET
