// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be wrong with a running state at run time.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/recurrence.hpp>

#include <string_view>

namespace fovea::FOVEA_SET {

/// (batch, head, feature of the key, feature of the value) of a state; the sum of the keys is one column more.
template <attention_spec A>
constexpr extents_t<4> state_extents(A const&, operand_shapes const& shapes) {
    return {shapes.batches(), shapes.key_heads(), shapes.key[3], shapes.features() + (divides_by_sum<A> ? 1 : 0)};
}

/// Errors: shape_error when a state that is given or asked for does not fit.
template <attention_spec A>
FOVEA_INLINE void check_state(A const& a, operand_shapes const& shapes, extents_t<4> const& extents,
                              std::string_view name) {
    auto const needed = state_extents(a, shapes);
    if (extents != needed)
        throw shape_error(name, " is ", extents, ", (batch, head, feature of key, feature of value)",
                          (divides_by_sum<A> ? " and the sum of the keys" : ""), " is ", needed);
}

/// Errors: shape_error when a gate or a rate does not fit, or queries and keys do not go side by side.
template <attention_spec A>
FOVEA_INLINE void check_recurrence(A const& a, operand_shapes const& shapes) {
    if constexpr (is_recurrent<A>) {
        auto const aggregate = core_of(a.aggregate);
        if (is_causal_attention<A> && shapes.queries() != shapes.keys())
            throw shape_error("a running state goes along queries and keys together: query has ",
                              detail::counted(shapes.queries(), "position"), ", key has ", shapes.keys());
        if constexpr (decltype(aggregate)::gated) aggregate.gate.decay.check(shapes.key, true, "gated");
        if constexpr (decltype(aggregate)::corrected) aggregate.correction.rate.check(shapes.key, false, "delta");
    }
}

}  // namespace fovea::FOVEA_SET
