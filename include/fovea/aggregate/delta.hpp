// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/step_gates.hpp>

namespace fovea::FOVEA_SET {

/// delta: a running state that corrects itself: it adds only the part of each value that it does not give already.
///
///     S += rate_j k_j (v_j - S^T k_j)^T
///
/// Shapes: the rate, often called beta, is a number, (head) or (batch, head, position) of the keys, broadcast.
/// Cost: one additional product of the state with each key.
/// Gradients: of what the state is made of, and the rate where it is a table.
/// Edge cases: rate 0 leaves the state as it is; after rate 1 and a key of length one, the state gives exactly v_j for
/// k_j. Stable for rates up to 2 over the squared length of a key. With `gated`, the state decays first.
/// Errors: shape_error where the view does not fit the keys. At compile time, without running_state before it, without
/// `causal`, after `proportional`, and for a temporary, since a view is kept.
/// Source: Schlag et al. 2021, section 4.2; with a gate, Yang et al. 2025 (Gated DeltaNet).
template <class T>
struct delta_t {
    using state_update_tag = void;
    static constexpr std::string_view name = "delta";
    step_gates<T> rate;
    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        rate.memory(visit, "delta");
    }
};

template <class Rate>
constexpr auto delta(Rate&& rate) {
    static_assert(
        !is_temporary_owner<Rate>,
        "fovea: delta keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const table = detail::as_step_table(rate);
    return delta_t<std::remove_cvref_t<decltype(table.number)>>{table};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed delta(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
