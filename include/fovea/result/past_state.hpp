// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

template <class T>
struct bound_past_state {
    using past_state_tag = void;
    view<T const, 4> target;
};

template <class T, int Rank>
struct past_state_input {
    using output_tag = void;
    using state_of_gradient_tag = void;
    static constexpr std::string_view name = "past_state";
    static constexpr bool is_past = true;
    view<T const, Rank> target;
    FOVEA_INLINE bound_past_state<T> bind(operand_shapes const& shapes) const {
        return {state_of_call(target, shapes)};
    }

    /// The state of one sequence of a ragged batch.
    past_state_input of_sequence(sequence_place const& at) const {
        return detail::state_argument_of_sequence(*this, at);
    }
};

/// past_state: the running state that a call begins with; without it, zeros.
///
///     attend(spec, q, k, v, result, past_state(s), present_state(s))    in place, chunk after chunk
///     gradient(spec, q, k, v, d_result, past_state(s), grad(q, d_q), grad(s, d_s))
///
/// Shapes: (batch, key head, feature of the key, feature of the value), batch and head omitted if they are one; with
/// `proportional` a last column holds the sum of the keys. Its elements may have a different type from the operands.
/// Cost: it is read once.
/// Edge cases: it may be the present_state of the same call, which is then updated in place.
/// Errors: shape_error where it does not fit the call, or overlaps what is written without being the present_state. At
/// compile time, without running_state.
template <class State>
constexpr auto past_state(State&& state) {
    return detail::state_input<past_state_input>(std::forward<State>(state));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed past_state(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
