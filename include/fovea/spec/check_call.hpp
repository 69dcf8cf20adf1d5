// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one door of every call: all that can be wrong with a specification and its arguments, before anything is written.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/check_state.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/table_bounds.hpp>
#include <fovea/spec/well_formed.hpp>

#include <string>

namespace fovea {

/// The extents of a call: its operands as the score sees them, and its result.
struct call_shapes {
    operand_shapes operands;
    extents_t<4> result{};
};

namespace detail {
template <class T, int Rank>
void require_distinct_elements(view<T, Rank> const& written, char const* name) {
    for (int axis = 0; axis < Rank; ++axis)
        if (written.size() > 0 && written.extent(axis) > 1 && written.stride(axis) == 0)
            throw shape_error(std::string(name) + " has stride 0 along axis " + std::to_string(axis)
                              + ": its elements would be written twice");
}

/// What may not overlap a view that is written: the operands, and what is written beside it.
template <class Written, int Rank, class... Rows>
void require_apart_from_operands(view<Written, Rank> const& written, char const* name, Rows const&... operands) {
    char const* names[] = {"query", "key", "value"};
    int i = 0;
    auto const apart = [&](auto const& rows, char const* other) {
        if constexpr (is_paged<std::remove_cvref_t<decltype(rows)>>) require_apart(written, name, rows.pages, other);
        else require_apart(written, name, rows, other);
    };
    (apart(operands, names[i++]), ...);
}

/// Rows that can be read: a view that is sound, or pages that their table finds.
template <class Rows>
void require_readable(Rows const& rows, char const* name) {
    if constexpr (is_paged<Rows>) {
        require_sound(rows.pages, name);
        rows.check(name);
    } else {
        require_sound(rows, name);
    }
}

}  // namespace detail

/// check_call: the extents of a call on (batch, head, position, feature) views of the sources and the result.
///
/// Where the compiler can tell that the call is wrong, it says so, and the answer is ill_formed.
/// Errors: shape_error naming the argument, what it has and what was needed; graph_error for a mask that lists keys.
template <attention_spec A, class Q, class KeyRows, class ValueRows, class Out, extra_output... Extra>
FOVEA_INLINE auto check_call(A const& a, view<Q, 4> const& query, KeyRows const& key, ValueRows const& value,
                             view<Out, 4> const& result, Extra const&... extra) {
    if constexpr (!detail::is_well_formed_call<A, Out, Extra...>()) {
        return ill_formed{};
    } else {
        detail::require_sound(query, "query");
        detail::require_readable(key, "key");
        detail::require_readable(value, "value");
        detail::require_sound(result, "result");
        call_shapes shapes;
        auto& operands = shapes.operands;
        operands = projected_shapes(a, query.extents, key.extents, value.extents);
        check_summed_tables(a.score.expression(), operands.query[3], operands.key[3]);
        if constexpr (enumerating_mask<decltype(a.mask)>)
            a.mask.neighbor_list().check(operands.queries(), operands.keys());
        check_tables(a, operands);

        shapes.result = result_shape(a, operands, query.extents);
        if (result.extents != shapes.result)
            throw shape_error("result is " + to_text(result.extents)
                              + ", (batch, head, position, feature) of the call is " + to_text(shapes.result));
        detail::require_distinct_elements(result, "result");
        detail::require_apart_from_operands(result, "result", query, key, value);

        auto const check = [&](auto const& asked) {
            auto const bound = asked.bind(operands);
            if constexpr (concerns_state<decltype(bound)>) check_state(a, operands, bound, result);
            if constexpr (gives_past_state<decltype(bound)>) return;
            auto const& target = bound.target;
            char const* const name = asked.name.data();
            detail::require_sound(target, name);
            detail::require_distinct_elements(target, name);
            detail::require_apart_from_operands(target, name, query, key, value);
            detail::require_apart(target, name, result, "result");
        };
        (check(extra), ...);
        check_recurrence(a, operands, extra.bind(operands)...);
        return shapes;
    }
}

}  // namespace fovea
