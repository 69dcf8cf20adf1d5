// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call whose arguments have been bound to what they mean, with the checks of every call: the one form in which calls
// are run, defined and explained. A running state has checks of its own.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/call/arguments.hpp>
#include <fovea/spec/call/memory.hpp>
#include <fovea/spec/call/table_bounds.hpp>
#include <fovea/spec/call/well_formed.hpp>
#include <fovea/spec/in_parts.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <array>
#include <string>
#include <string_view>
#include <tuple>

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
        raise_error(shape_error(name, " is ", extents, ", (batch, head, feature of key, feature of value)",
                                (divides_by_sum<A> ? " and the sum of the keys" : ""), " is ", needed));
}

/// Errors: shape_error when a gate or a rate does not fit, or queries and keys do not go side by side.
template <attention_spec A>
FOVEA_INLINE void check_recurrence(A const& a, operand_shapes const& shapes) {
    if constexpr (is_recurrent<A>) {
        auto const aggregate = core_of(a.aggregate);
        if (is_causal_attention<A> && shapes.queries() != shapes.keys())
            raise_error(shape_error("a running state goes along queries and keys together: query has ",
                                    detail::counted(shapes.queries(), "position"), ", key has ", shapes.keys()));
        if constexpr (decltype(aggregate)::gated) aggregate.gate.decay.check(shapes.key, true, "gated");
        if constexpr (decltype(aggregate)::corrected) aggregate.correction.rate.check(shapes.key, false, "delta");
    }
}

/// bound_call: the arguments of a call, all (batch, head, position, feature), the outputs that it asks for, and the
/// extents of its operands as the score sees them, once it is checked.
template <class QueryRows, class KeyRows, class ValueRows, class Result, class... Asked>
struct bound_call {
    using query_element = element_of_rows<QueryRows>;
    using result_element = std::remove_pointer_t<decltype(Result::data)>;
    /// The type of the arithmetic.
    using number = compute_type<query_element, element_of_rows<KeyRows>, element_of_rows<ValueRows>, result_element>;
    using outputs_type = std::tuple<decltype(std::declval<Asked const&>().bind(operand_shapes{}))...>;

    QueryRows query;
    KeyRows key;
    ValueRows value;
    Result result;
    std::tuple<Asked...> asked{};
    operand_shapes shapes{};

    /// The outputs, bound to the extents of the call.
    FOVEA_INLINE outputs_type outputs() const {
        return std::apply([&](auto const&... each) { return outputs_type(each.bind(shapes)...); }, asked);
    }
    /// Whether there is nothing to write: then a call returns at once, however many heads or batch elements are empty.
    FOVEA_INLINE bool writes_nothing() const {
        return result.empty()
            && std::apply([](auto const&... output) { return (output.target.empty() && ...); }, outputs());
    }
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
template <attention_spec A, class Call>
FOVEA_INLINE void check_memory_read(A const& a, Call const& call) {
    for_each_array_read(a, call.query, call.key, call.value,
                        [](memory_region const& region) { require_sound(region); });
}

/// Errors: shape_error where an array that a call writes beside its result cannot be, or where one that it writes, the
/// result among them, shares an element with anything else that the call uses. `also_read` passes its argument what is
/// read beside the operands and the specification's arrays.
template <attention_spec A, class Call, class AlsoRead, class... Asked>
FOVEA_INLINE void check_memory_written(A const& a, Call const& call, std::tuple<Asked...> const& all_asked,
                                       AlsoRead const& also_read) {
    constexpr std::size_t count = (std::size_t{1} + ... + std::size_t{is_only_read<Asked> ? 0 : 1});
    std::array<memory_region, count> written{region_of(call.result, "result")};
    [[maybe_unused]] std::size_t next = 1;
    auto const for_each_asked = [&](auto const& f) {
        std::apply([&](auto const&... asked) { (f(asked), ...); }, all_asked);
    };
    for_each_asked([&](auto const& asked) {
        if constexpr (!is_only_read<std::remove_cvref_t<decltype(asked)>>)
            written[next++] = region_of_output(asked, call.shapes);
    });
    for (std::size_t i = 1; i < count; ++i) require_sound(written[i]);  // the result is
    check_written(written, [&](auto const& visit) {
        for_each_array_read(a, call.query, call.key, call.value, visit);
        also_read(visit);
        for_each_asked([&](auto const& asked) {
            if constexpr (is_only_read<std::remove_cvref_t<decltype(asked)>>) {
                auto const region = region_of_output(asked, call.shapes);
                require_sound(region);
                visit(region);
            }
        });
    });
}

/// Errors: shape_error where a finish adds rows that are not those of the queries of a call.
template <attention_spec A>
void check_added_rows(A const& a, index_t batches, index_t queries) {
    for_each_finish(a.aggregate, [&](auto const& finish) {
        if constexpr (requires { finish.check_rows(batches, queries); }) finish.check_rows(batches, queries);
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
    detail::check_added_rows(a, shapes.batches(), shapes.queries());
    if constexpr (adds_to_values<A>) check_feature_tables(core_of(a.aggregate).added(), shapes.features(), "value");
    check_tables<Real>(a, shapes);
    check_visible_pages<Real>(a, key, shapes, "key");
    check_visible_pages<Real>(a, value, shapes, "value");
    check_recurrence(a, shapes);
    return shapes;
}

/// check_extents: finds the extents of a call whose arrays are sound, with every check but those of what it writes in
/// memory.
template <attention_spec A, class Call>
FOVEA_INLINE void check_extents(A const& a, Call& call) {
    call.shapes = check_operands_of<typename Call::number>(a, call.query, call.key, call.value);
    auto const expected = result_shape(a, call.shapes, call.query.extents);
    if (call.result.extents != expected)
        raise_error(shape_error("result is ", call.result.extents, " and must be ", expected,
                                ", (batch, head, position, feature)"));
    auto const check = [&](auto const& output) {
        using type = std::remove_cvref_t<decltype(output)>;
        if constexpr (concerns_state<type>)
            check_state(a, call.shapes, output.target.extents, gives_past_state<type> ? "past_state" : "present_state");
    };
    std::apply([&](auto const&... output) { (check(output), ...); }, call.outputs());
}

/// check_call: finds the extents of a call, with every check.
///
/// Errors: shape_error naming the argument, what it has and what was needed; graph_error for a mask that lists keys.
template <attention_spec A, class Call>
FOVEA_INLINE void check_call(A const& a, Call& call) {
    detail::check_memory_read(a, call);
    detail::require_sound(detail::region_of(call.result, "result"));
    check_extents(a, call);
    detail::check_memory_written(a, call, call.asked, [](auto const&) {});
}

namespace detail {
/// An output that is asked of a call; of one whose keys are listed, it knows the list.
template <class Of, class Asked>
auto asked_of(Of const& of, Asked const& asked) {
    if constexpr (attention_spec<Of> && std::is_same_v<attention_within<Of>, Of> && requires {
                      asked.of_list(graph_view{});
                      requires std::same_as<decltype(of.mask.neighbor_list()), graph_view>;
                  })
        return asked.of_list(of.mask.neighbor_list());
    else return asked;
}
}  // namespace detail

/// bind_call: the call that the arguments after a specification make, checked; a function for each form of them. `Of`
/// is the specification, or one that runs in each sequence of a ragged batch.
///
/// Where the compiler can tell that the call is wrong, it says so, and the answer is ill_formed.
template <class Of, viewable Query, row_source Key, row_source Value, viewable Result, extra_output... Asked>
FOVEA_INLINE auto bind_call(Of const& of, Query const& query, Key const& key, Value const& value, Result&& result,
                            Asked const&... asked) {
    using specification = attention_within<Of>;
    using call_type =
        bound_call<decltype(as_rows(query)), decltype(as_rows(key)), decltype(as_rows(value)),
                   decltype(as_heads(detail::operand_of(result))), decltype(detail::asked_of(of, asked))...>;
    if constexpr (!detail::is_well_formed_call<specification, typename call_type::result_element, Asked...>()) {
        return ill_formed{};
    } else if constexpr (!detail::has_comparable_features<specification, Query, Key>()) {
        return ill_formed{};
    } else if constexpr (!detail::keeps_sources<specification, Key, Value>()) {
        return ill_formed{};
    } else if constexpr (!detail::has_sound_precision<specification, typename call_type::number>()) {
        return ill_formed{};
    } else {
        call_type call{as_rows(query),
                       as_rows(key),
                       as_rows(value),
                       as_heads(detail::operand_of(result)),
                       {detail::asked_of(of, asked)...},
                       {}};
        check_call(of, call);
        return call;
    }
}
/// Without a result a call is only explained: one of the type of the arithmetic is assumed.
template <class Of, viewable Query, row_source Key, row_source Value>
FOVEA_INLINE auto bind_call(Of const& of, Query const& query, Key const& key, Value const& value) {
    using number = compute_type<element_of_rows<decltype(as_rows(query))>, element_of_rows<decltype(as_rows(key))>,
                                element_of_rows<decltype(as_rows(value))>>;
    if constexpr (!detail::is_well_formed_call<Of, number>()) {
        return ill_formed{};
    } else if constexpr (!detail::has_comparable_features<Of, Query, Key>()) {
        return ill_formed{};
    } else if constexpr (!detail::keeps_sources<Of, Key, Value>()) {
        return ill_formed{};
    } else if constexpr (!detail::has_sound_precision<Of, number>()) {
        return ill_formed{};
    } else {
        bound_call<decltype(as_rows(query)), decltype(as_rows(key)), decltype(as_rows(value)), view<number, 4>> call{
            as_rows(query), as_rows(key), as_rows(value), {}, {}, {}};
        detail::check_memory_read(of, call);
        call.shapes = check_operands_of<number>(of, call.query, call.key, call.value);
        return call;
    }
}
template <class Of, viewable Source>
FOVEA_INLINE auto bind_call(Of const& of, Source const& x) {
    return bind_call(of, x, x, x);
}
template <class Of, viewable Source, viewable Result, extra_output... Asked>
FOVEA_INLINE auto bind_call(Of const& of, Source const& x, Result&& result, Asked const&... asked) {
    return bind_call(of, x, x, x, result, asked...);
}
template <class Of, class Q, int QueryRank, class M, int MemoryRank, class... Written>
FOVEA_INLINE auto bind_call(Of const& of, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m,
                            Written&&... written) {
    return bind_call(of, x.source, m.source, m.source, written...);
}

}  // namespace fovea::FOVEA_SET
