// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one door of every call: all that can be wrong with a specification and its arguments, before anything is written.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/bound_call.hpp>
#include <fovea/spec/check_state.hpp>
#include <fovea/spec/inputs.hpp>
#include <fovea/spec/memory.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/table_bounds.hpp>
#include <fovea/spec/visible_pages.hpp>
#include <fovea/spec/well_formed.hpp>

#include <array>
#include <string>

namespace fovea::FOVEA_SET {

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
template <attention_spec A, class Call, class AlsoRead, class... Extra>
FOVEA_INLINE void check_memory_written(A const& a, Call const& call, AlsoRead const& also_read, Extra const&... extra) {
    constexpr std::size_t count = (std::size_t{1} + ... + std::size_t{is_only_read<Extra> ? 0 : 1});
    std::array<memory_region, count> written{region_of(call.result, "result")};
    [[maybe_unused]] std::size_t next = 1;
    [[maybe_unused]] auto const add = [&](auto const& asked) {
        if constexpr (!is_only_read<std::remove_cvref_t<decltype(asked)>>)
            written[next++] = region_of_output(asked, call.shapes);
    };
    (add(extra), ...);
    for (std::size_t i = 1; i < count; ++i) require_sound(written[i]);  // the result is
    check_written(written, [&](auto const& visit) {
        for_each_array_read(a, call.query, call.key, call.value, visit);
        also_read(visit);
        [[maybe_unused]] auto const read = [&](auto const& asked) {
            if constexpr (is_only_read<std::remove_cvref_t<decltype(asked)>>) {
                auto const region = region_of_output(asked, call.shapes);
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
    check_summed_tables(a.score.expression(), shapes.query[3], shapes.key[3]);
    if constexpr (enumerating_mask<decltype(a.mask)>) a.mask.neighbor_list().check(shapes.queries(), shapes.keys());
    check_tables<Real>(a, shapes);
    check_visible_pages<Real>(a, key, shapes, "key");
    check_visible_pages<Real>(a, value, shapes, "value");
    check_recurrence(a, shapes);
    return shapes;
}

/// check_extents: the call that these arguments make if their arrays are sound, with every check but those of what it
/// writes in memory.
template <attention_spec A, class Q, class KeyRows, class ValueRows, class Out, extra_output... Extra>
FOVEA_INLINE auto check_extents(A const& a, view<Q, 4> const& query, KeyRows const& key, ValueRows const& value,
                                view<Out, 4> const& result, Extra const&... extra) {
    using outputs = std::tuple<decltype(extra.bind(operand_shapes{}))...>;
    using call = bound_call<Q, KeyRows, ValueRows, Out, outputs>;
    auto const shapes = check_operands_of<typename call::number>(a, query, key, value);
    auto const expected = result_shape(a, shapes, query.extents);
    if (result.extents != expected)
        throw shape_error("result is ", result.extents, " and must be ", expected,
                          ", (batch, head, position, feature)");
    call const bound{query, key, value, result, outputs{extra.bind(shapes)...}, shapes};
    std::apply(
        [&](auto const&... output) {
            [[maybe_unused]] auto const check = [&](auto const& each) {
                if constexpr (concerns_state<std::remove_cvref_t<decltype(each)>>) check_state(a, shapes, each);
            };
            (check(output), ...);
        },
        bound.outputs);
    return bound;
}

/// check_call: the call that these (batch, head, position, feature) views of sources and result make.
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
        auto const call = check_extents(a, query, key, value, result, extra...);
        detail::check_memory_written(a, call, [](auto const&) {}, extra...);
        return call;
    }
}
/// The same of a call without a result, which is only explained: one of the type of the arithmetic is assumed.
template <attention_spec A, class Q, class KeyRows, class ValueRows>
FOVEA_INLINE auto check_call(A const& a, view<Q, 4> const& query, KeyRows const& key, ValueRows const& value) {
    using number = compute_type<std::remove_const_t<Q>, element_of_rows<KeyRows>, element_of_rows<ValueRows>>;
    if constexpr (!detail::is_well_formed_call<A, number>()) {
        return ill_formed{};
    } else {
        detail::check_memory_read(a, query, key, value);
        return bound_call<Q, KeyRows, ValueRows, number>{query, key, value,
                                                         {},    {},  check_operands_of<number>(a, query, key, value)};
    }
}

/// What a call writes: its result with four axes, its outputs as they are asked for.
template <class Written>
FOVEA_INLINE constexpr auto as_written(Written& written) {
    if constexpr (extra_output<Written>) return written;
    else return as_heads(detail::operand_of(written));
}

/// bind_call: the call that the arguments after a specification, `of`, make; a function for each form of them.
template <class Of, viewable Query, row_source Key, row_source Value, class... Written>
FOVEA_INLINE auto bind_call(Of const& of, Query const& query, Key const& key, Value const& value,
                            Written&&... written) {
    if constexpr (!detail::has_comparable_features<Of, Query, Key>()) return ill_formed{};
    else
        return check_call(of, as_heads(detail::operand_of(query)), as_rows(key), as_rows(value),
                          as_written(written)...);
}
template <class Of, viewable Source>
FOVEA_INLINE auto bind_call(Of const& of, Source const& x) {
    return bind_call(of, x, x, x);
}
template <class Of, viewable Source, viewable Result, extra_output... Extra>
FOVEA_INLINE auto bind_call(Of const& of, Source const& x, Result&& result, Extra const&... extra) {
    return bind_call(of, x, x, x, result, extra...);
}
template <class Of, class Q, int QueryRank, class M, int MemoryRank, class... Written>
FOVEA_INLINE auto bind_call(Of const& of, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m,
                            Written&&... written) {
    return bind_call(of, x.source, m.source, m.source, written...);
}

}  // namespace fovea::FOVEA_SET
