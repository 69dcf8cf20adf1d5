// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/step_gates.hpp>

namespace fovea::FOVEA_SET {

/// gated: a running state that forgets: before a key is added, the state is multiplied by exp(decay).
///
///     S = diag(exp(decay_j)) S + k_j v_j^T
///
/// Shapes: the decay is a number, (head), (batch, head, position), or (batch, head, position, feature of the key) for a
/// decay per row of the state; axes of extent one are broadcast, heads are those of the keys.
/// Cost: one multiplication for each number of the state, and the exponentials once per position.
/// Gradients: of what the state is made of, and the decay where it is a table.
/// Edge cases: 0 keeps everything, -inf only the key that is added. With `proportional`, the sum of keys decays too.
/// Errors: shape_error where the view does not fit the keys. At compile time, without running_state or `causal` before
/// it.
/// Source: Sun et al. 2023 (retention, a number per head); Yang et al. 2024 (gated linear attention, per feature).
template <class T>
struct gated_t {
    using state_update_tag = void;
    static constexpr std::string_view name = "gated";
    step_gates<T> decay;
    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        decay.memory(visit, "gated");
    }
};

template <class Decay>
constexpr auto gated(Decay&& decay) {
    static_assert(
        !is_temporary_owner<Decay>,
        "fovea: gated keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const table = detail::as_step_table(decay);
    return gated_t<std::remove_cvref_t<decltype(table.number)>>{table};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed gated(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
