// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one door of every call: all that can be wrong with a specification and its arguments, before anything is written.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/check_state.hpp>
#include <fovea/spec/memory.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/table_bounds.hpp>
#include <fovea/spec/visible_pages.hpp>
#include <fovea/spec/well_formed.hpp>

#include <array>
#include <string>

namespace fovea::FOVEA_SET {

/// The extents of a call: its operands as the score sees them, and its result.
struct call_shapes {
    operand_shapes operands;
    extents_t<4> result{};
};

namespace detail {
/// Two states of one call may be one array: the new one takes the place of the old.
inline constexpr int state_twin = 1;

template <class Asked>
inline constexpr bool is_only_read = gives_past_state<decltype(std::declval<Asked const&>().bind(operand_shapes{}))>;

template <class Asked>
FOVEA_INLINE memory_region region_of_output(Asked const& asked, operand_shapes const& shapes) {
    auto const bound = asked.bind(shapes);
    auto region = region_of(bound.target, asked.name.data());
    if constexpr (concerns_state<decltype(bound)>) region.twin = state_twin;
    return region;
}

/// Errors: shape_error where an array that a call reads cannot be.
template <attention_spec A, class Q, class KeyRows, class ValueRows>
FOVEA_INLINE void check_memory_read(A const& a, view<Q, 4> const& query, KeyRows const& key, ValueRows const& value) {
    for_each_array_read(a, query, key, value, [](memory_region const& region) { require_sound(region); });
}

/// Errors: shape_error where an array that a call writes beside its result cannot be, or where one that it writes, the
/// result among them, shares an element with anything else that the call uses. `also_read` passes its argument what is
/// read beside the operands and the specification's arrays.
template <attention_spec A, class Q, class KeyRows, class ValueRows, class Out, class AlsoRead, class... Extra>
FOVEA_INLINE void check_memory_written(A const& a, operand_shapes const& shapes, view<Q, 4> const& query,
                                       KeyRows const& key, ValueRows const& value, view<Out, 4> const& result,
                                       AlsoRead const& also_read, Extra const&... extra) {
    constexpr std::size_t count = (std::size_t{1} + ... + std::size_t{is_only_read<Extra> ? 0 : 1});
    std::array<memory_region, count> written{region_of(result, "result")};
    [[maybe_unused]] std::size_t next = 1;
    [[maybe_unused]] auto const add = [&](auto const& asked) {
        if constexpr (!is_only_read<std::remove_cvref_t<decltype(asked)>>)
            written[next++] = region_of_output(asked, shapes);
    };
    (add(extra), ...);
    for (std::size_t i = 1; i < count; ++i) require_sound(written[i]);  // the result is
    check_written(written, [&](auto const& visit) {
        for_each_array_read(a, query, key, value, visit);
        also_read(visit);
        [[maybe_unused]] auto const read = [&](auto const& asked) {
            if constexpr (is_only_read<std::remove_cvref_t<decltype(asked)>>) {
                auto const region = region_of_output(asked, shapes);
                require_sound(region);
                visit(region);
            }
        };
        (read(extra), ...);
    });
}
}  // namespace detail

/// check_operands_of: the extents of the operands of a call as its score sees them, with every check of what the call
/// reads in an arithmetic of type Real; its arrays are sound.
///
/// Errors: shape_error naming the argument, what it has and what was needed; graph_error for a mask that lists keys.
template <class Real, attention_spec A, class Q, class KeyRows, class ValueRows>
FOVEA_INLINE operand_shapes check_operands_of(A const& a, view<Q, 4> const& query, KeyRows const& key,
                                              ValueRows const& value) {
    [[maybe_unused]] auto const check_pages = [](auto const& rows, char const* name) {
        if constexpr (requires { rows.check(name); }) rows.check(name);
    };
    auto const shapes = projected_shapes(a, query.extents, key.extents, value.extents);
    check_pages(key, "key");
    check_pages(value, "value");
    check_summed_features(a.score.expression(), shapes.query[3], shapes.key[3]);
    if constexpr (enumerating_mask<decltype(a.mask)>) a.mask.neighbor_list().check(shapes.queries(), shapes.keys());
    check_tables<Real>(a, shapes);
    check_visible_pages<Real>(a, key, shapes, "key");
    check_visible_pages<Real>(a, value, shapes, "value");
    check_recurrence(a, shapes);
    return shapes;
}

/// check_extents: the extents of a call whose arrays are sound, with every check but those of what it writes in memory.
template <attention_spec A, class Q, class KeyRows, class ValueRows, class Out, extra_output... Extra>
FOVEA_INLINE call_shapes check_extents(A const& a, view<Q, 4> const& query, KeyRows const& key, ValueRows const& value,
                                       view<Out, 4> const& result, Extra const&... extra) {
    using real = compute_type<std::remove_const_t<Q>, element_of_rows<KeyRows>, element_of_rows<ValueRows>, Out>;
    call_shapes shapes{check_operands_of<real>(a, query, key, value), {}};
    shapes.result = result_shape(a, shapes.operands, query.extents);
    if (result.extents != shapes.result)
        throw shape_error("result is ", result.extents, " and must be ", shapes.result,
                          ", (batch, head, position, feature)");
    [[maybe_unused]] auto const check = [&](auto const& asked) {
        auto const bound = asked.bind(shapes.operands);
        if constexpr (concerns_state<decltype(bound)>) check_state(a, shapes.operands, bound);
    };
    (check(extra), ...);
    return shapes;
}

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
        detail::check_memory_read(a, query, key, value);
        detail::require_sound(detail::region_of(result, "result"));
        auto const shapes = check_extents(a, query, key, value, result, extra...);
        detail::check_memory_written(a, shapes.operands, query, key, value, result, [](auto const&) {}, extra...);
        return shapes;
    }
}

/// check_explained: the extents of the operands of a call, as check_call finds them, for a call without a result.
template <attention_spec A, class Q, class KeyRows, class ValueRows>
FOVEA_INLINE operand_shapes check_explained(A const& a, view<Q, 4> const& query, KeyRows const& key,
                                            ValueRows const& value) {
    detail::check_memory_read(a, query, key, value);
    using real = compute_type<std::remove_const_t<Q>, element_of_rows<KeyRows>, element_of_rows<ValueRows>>;
    return check_operands_of<real>(a, query, key, value);
}

}  // namespace fovea::FOVEA_SET
