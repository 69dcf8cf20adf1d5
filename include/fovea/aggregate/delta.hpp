// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/step_table.hpp>

namespace fovea::FOVEA_SET {

/// delta: a running state that corrects itself: of a value only what the state does not give yet is added.
///
///     S += rate_j k_j (v_j - S^T k_j)^T
///
/// The rate, also called beta, is a number, (head), or (batch, head, position); axes of extent one stand for all.
/// With rate 1 and keys of length one the state gives v_j for k_j afterwards; with rate 0 it stays.
/// Written behind running_state, with causal and unnormalized; with gated, the state decays first.
/// Cost: one product more of state and key. Errors: shape_error when the view does not fit the keys.
/// Source: Schlag et al. 2021, section 4.2; with gated, Yang et al. 2025 (Gated DeltaNet).
template <class T>
struct delta_t {
    using state_update_tag = void;
    static constexpr std::string_view name = "delta";
    step_table<T> rate;
    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        rate.memory(visit, "delta");
    }
};

template <class Rate>
constexpr auto delta(Rate&& rate) {
    static_assert(!is_temporary_owner<Rate>,
                  "fovea: delta keeps a view, and this container is a temporary that ends with the statement");
    auto const table = detail::as_step_table(rate);
    return delta_t<std::remove_cvref_t<decltype(table.number)>>{table};
}

}  // namespace fovea::FOVEA_SET
