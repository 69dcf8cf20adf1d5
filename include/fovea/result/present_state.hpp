// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

template <class T>
struct bound_present_state {
    using present_state_tag = void;
    view<T, 4> target;
};

template <class T, int Rank>
struct present_state_output {
    using output_tag = void;
    static constexpr std::string_view name = "present_state";
    view<T, Rank> target;
    FOVEA_INLINE bound_present_state<T> bind(operand_shapes const& shapes) const {
        return {state_of_call(target, shapes)};
    }

    /// The state of one sequence of a ragged batch.
    present_state_output of_sequence(sequence_place const& at) const {
        return detail::state_argument_of_sequence(*this, at);
    }
};

/// present_state: asks for the running state after the last key, for the call that continues from there.
///
///     attend(spec, q, k, v, result, present_state(s))
///
/// Shapes: (batch, key head, feature of the key, feature of the value), batch and head omitted if they are one; with
/// `proportional` a last column holds the sum of the keys.
/// Cost: it is written once.
/// Edge cases: a call without positions passes on the past state. It may be the past_state of the same call.
/// Errors: shape_error where it does not fit the call, or overlaps an operand, the result, or a past state that is a
/// different view. At compile time, without running_state.
template <class Target>
constexpr auto present_state(Target&& target) {
    return detail::output_to<present_state_output>(std::forward<Target>(target));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed present_state(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
