// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct d_present_state_input {
    using output_tag = void;
    using state_of_gradient_tag = void;
    static constexpr std::string_view name = "d_present_state";
    static constexpr bool is_past = false;
    view<T const, Rank> target;

    struct bound {
        using past_state_tag = void;
        view<T const, 4> target;
    };
    /// The members of an output that attend asks for.
    template <class Shapes>
    bound bind(Shapes const& shapes) const {
        static_assert(never<Shapes>,
                      "fovea: d_present_state(...) is given to gradient, which takes the gradient of the result");
        return {state_of_call(target, shapes)};
    }

    /// That of one sequence of a ragged batch.
    d_present_state_input of_sequence(sequence_place const& at) const {
        return detail::state_argument_of_sequence(*this, at);
    }
};

/// d_present_state: the gradient of the state that a call left, as the calls that went on from there have it.
///
///     gradient(spec, q, k, v, d_out, past_state(s), d_present_state(d_next), grad(q, d_q), grad(s, d_s))
///
/// Shapes: those of present_state. What `grad(s, d_s)` gives is the d_present_state of the call before.
/// Cost: it is read once.
/// Edge cases: without it, zeros: nothing went on from there.
/// Errors: shape_error where it does not fit the call, or a target of grad overlaps it. At compile time, without
/// running_state, and where it is given to attend.
/// Source: backpropagation through time (Werbos 1990), a call at a time.
template <class State>
constexpr auto d_present_state(State&& state) {
    return detail::state_input<d_present_state_input>(std::forward<State>(state));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed d_present_state(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
