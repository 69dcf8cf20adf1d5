// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a call of gradient in their one form, with every check.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/spec/arguments.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/grad.hpp>
#include <fovea/spec/row_gradient.hpp>
#include <fovea/spec/saved_rows.hpp>

#include <array>
#include <optional>
#include <tuple>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentence for a map of heads without a rule.
template <class Map>
constexpr bool has_head_map_gradient() {
    using row = feature_row_archetype<double>;
    constexpr bool plain = requires(Map const& m, row x, head_place at) { m.gradient(x, x, at); };
    constexpr bool prepared =
        requires(Map const& m, row x, head_place at, double const* numbers) { m.gradient(x, x, at, numbers); };
    constexpr bool linear = requires { requires Map::linear; };
    constexpr bool has_rule = linear || (prepared_head_map<Map> ? prepared : plain);
    static_assert(has_rule, "fovea: this map of heads has no gradient: give it gradient(x, d, place), or linear");
    return has_rule;
}
template <class Map>
constexpr bool has_row_map_gradient() {
    if constexpr (headwise_map<Map>)
        return has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Map>().first)>>()
            && has_head_map_gradient<std::remove_cvref_t<decltype(std::declval<Map>().second)>>();
    else return true;
}
template <class Project>
constexpr bool has_projection_gradient() {
    if constexpr (projection<Project>)
        return has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Project>().query)>>()
            && has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Project>().key)>>()
            && has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Project>().value)>>();
    else return true;
}

template <class T>
concept has_saved_rows = requires { typename T::saved_tag; };

/// The sentences for parts of a specification that have no gradient, and for what is asked for beside gradients.
template <class A, class... Asked>
constexpr bool has_gradients() {
    using normalize = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    using aggregate = std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>;
    constexpr bool only = ((asked_gradient<Asked> || has_saved_rows<Asked>) && ...) && (asked_gradient<Asked> || ...);
    static_assert(only,
                  "fovea: after the gradient of the result gradient takes grad(array, target), once or more, and no "
                  "other output");
    constexpr bool adds = linear_aggregator<aggregate> || recurrent_aggregator<aggregate>;
    static_assert(!only || adds, "fovea: this aggregator has no gradient: write weighted_sum in its place");
    constexpr bool smooth = has_row_gradient<normalize>;
    static_assert(
        !only || !adds || smooth,
        "fovea: this normalizer has no gradient: give it gradient(row), or write softmax, sparsemax or, for hardmax, "
        "straight_through in its place");
    if constexpr (!only || !adds || !smooth) return false;
    else return has_projection_gradient<std::remove_cvref_t<decltype(std::declval<A const&>().project)>>();
}

/// Calls found(table) for each table of which an expression has a gradient.
template <class E, class Found>
void for_each_table_of(E const& e, Found const& found) {
    if constexpr (!has_gradient<E>) return;
    else if constexpr (is_parameter<E>) found(e.table);
    else if constexpr (is_node_of<at_operation, E>) found(get<0>(e).table);
    else if constexpr (is_node<E>)
        with_children(e, [&](auto const&... children) { (for_each_table_of(children, found), ...); });
}

/// What stands for a row of which a normalizer asks facts, to see the expressions that it reads.
template <class See>
struct expressions_of_row {
    See const& see;
    double operator()(auto const& e) const {
        see(e);
        return 1;
    }
};

/// Calls see(expression) for all that weights are computed of: the score, numbers of the normalizer's rows, and the
/// reweighting.
template <attention_spec A, class See>
void for_each_expression_of_weights(A const& a, See const& see) {
    see(a.score.expression());
    auto const normalizer = normalizer_of(a.normalize);
    if constexpr (row_dependent_normalizer<std::remove_const_t<decltype(normalizer)>>)
        static_cast<void>(normalizer.for_row(expressions_of_row<See>{see}));
    see(reweighting_of(a.normalize));
}

/// Calls found(array) for each array that a specification reads and of which it has a gradient.
template <attention_spec A, class Found>
void for_each_array_with_gradient(A const& a, Found const& found) {
    auto const of_map = [&](auto const& map) {
        auto const& below = row_map_below(map);
        if constexpr (linear_map<std::remove_cvref_t<decltype(below)>>) {
            found(below.matrix);
            if (has_bias(below)) found(*below.bias);
        }
    };
    if constexpr (projection<decltype(a.project)>) {
        of_map(a.project.query);
        of_map(a.project.key);
        of_map(a.project.value);
    }
    for_each_expression_of_weights(a, [&](auto const& e) { for_each_table_of(e, found); });
    if constexpr (is_recurrent<A>) {
        auto const rules = core_of(a.aggregate);
        if constexpr (decltype(rules)::gated) found(rules.gate.decay);
        if constexpr (decltype(rules)::corrected) found(rules.correction.rate);
    }
    for_each_finish(a.aggregate, [&](auto const& finish) {
        using finish_type = std::remove_cvref_t<decltype(finish)>;
        if constexpr (linear_finish<finish_type>) of_map(finish.linear());
        else if constexpr (pointwise_finish<finish_type>) for_each_table_of(finish.expression(), found);
    });
}

inline constexpr char const* gradient_of_result = "the gradient of the result";

/// Errors: shape_error where it has other extents than the result.
inline void require_gradient_of_result(extents_t<4> const& given, extents_t<4> const& expected) {
    if (given != expected)
        throw shape_error(gradient_of_result, " is ", given, " and must be ", expected,
                          ", (batch, head, position, feature)");
}

/// A specification that runs in each sequence of a ragged batch.
template <class Of>
concept packs_sequences = requires(Of const& of) { of.sequences; };

/// Errors: shape_error where a target does not fit its array, or shares elements with anything that the call uses.
template <attention_spec A, class Call, class DResult, asked_gradient... Asked>
void check_targets(A const& a, Call const& call, DResult const& d_result, Asked const&... asked) {
    auto const region_of_target = [](auto const& each) {
        return each.wanted ? region_of(each.target, each.target_name) : memory_region{.name = "", .rank = 1};
    };
    auto const check = [&](auto const& each) {
        if (each.wanted && each.target.extents != each.of.extents)
            throw shape_error(each.target_name, " is ", each.target.extents, ", its array is ", each.of.extents);
        require_sound(region_of_target(each));
    };
    (check(asked), ...);
    check_written(std::array<memory_region, sizeof...(Asked)>{region_of_target(asked)...}, [&](auto const& visit) {
        for_each_array_read(a, call.query, call.key, call.value, visit);
        visit(region_of(d_result, gradient_of_result));
        if constexpr (packs_sequences<A>) a.sequences.memory(visit);
    });
}
}  // namespace detail

/// The operands of a call of gradient, bound and checked, the gradient of the result, and the rows of the forward call
/// where they were saved.
template <class Call, class D>
struct bound_gradient {
    using call_type = Call;
    using saved_type = saved_rows<typename Call::number>;
    Call call;
    view<D, 4> d_result;
    saved_type const* saved = nullptr;

    /// Errors: shape_error where the saved rows are those of a call of other shapes.
    void take(saved_type const& rows) {
        if (!rows.complete()) return;
        auto const& n = call.shapes;
        extents_t<4> const needed{n.batches(), n.heads(), n.queries(), n.features()};
        if (rows.result().extents != needed)
            throw shape_error("the saved rows are those of a result ", rows.result().extents, ", this call has ",
                              needed);
        saved = &rows;
    }
};

/// Everything that can be wrong with what a call of gradient reads.
template <attention_spec A, class Call, class D>
void check_gradient_call(A const& a, Call& call, view<D, 4> const& d_result) {
    detail::check_memory_read(a, call);
    call.shapes = check_operands_of<typename Call::number>(a, call.query, call.key, call.value);
    detail::require_sound(detail::region_of(d_result, detail::gradient_of_result));
    detail::require_gradient_of_result(d_result.extents, result_shape(a, call.shapes, call.query.extents));
}

/// bind_gradient: the call that the arguments after a specification make, checked; ill_formed where the compiler can
/// tell that it is wrong. `A` is the specification, or one that runs in each sequence of a ragged batch.
template <attention_spec A, viewable Query, row_source Key, row_source Value, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, Query const& query, Key const& key, Value const& value, DResult const& d_result,
                   Asked const&... asked) {
    using specification = attention_within<A>;
    using call_type = decltype(bind_call(std::declval<specification const&>(), query, key, value));
    if constexpr (is_ill_formed<call_type>) {
        return ill_formed{};
    } else if constexpr (!detail::has_gradients<specification, Asked...>()) {
        return ill_formed{};
    } else {
        auto const given = as_rows(d_result);
        using element = std::remove_pointer_t<decltype(given.data)>;
        call_type call{as_rows(query), as_rows(key), as_rows(value), {}, {}, {}};
        check_gradient_call(a, call, given);
        bound_gradient<call_type, element> bound{call, given};
        using saved_type = typename decltype(bound)::saved_type;
        auto const named = [&](auto const& argument) {
            using type = std::remove_cvref_t<decltype(argument)>;
            if constexpr (asked_gradient<type>) {
                return std::tuple(argument);
            } else {
                constexpr bool fits = std::is_same_v<type, saved_type>;
                static_assert(!detail::packs_sequences<A>,
                              "fovea: a ragged call saves no rows: leave saved_rows out of its gradient");
                static_assert(fits, "fovea: these saved_rows have numbers of another type than this call computes in");
                if constexpr (fits) bound.take(argument);
                return std::tuple();
            }
        };
        std::apply([&](auto const&... each) { detail::check_targets(a, call, given, each...); },
                   std::tuple_cat(named(asked)...));
        return bound;
    }
}
template <attention_spec A, viewable Source, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, Source const& x, DResult const& d_result, Asked const&... asked) {
    return bind_gradient(a, x, x, x, d_result, asked...);
}
template <attention_spec A, class Q, int QueryRank, class M, int MemoryRank, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m,
                   DResult const& d_result, Asked const&... asked) {
    return bind_gradient(a, x.source, m.source, m.source, d_result, asked...);
}

namespace detail {
/// Finds what is asked for among the arrays that a call reads.
/// Errors: shape_error for an array that it does not read.
template <attention_spec A, class Call, class Sums>
void find_arrays(A const& a, Call const& call, Sums& sums) {
    auto const found_rows = [&](auto const& rows) {
        if constexpr (is_view<std::remove_cvref_t<decltype(rows)>>) sums.template found<true>(rows);
    };
    found_rows(call.query);
    found_rows(call.key);
    found_rows(call.value);
    for_each_array_with_gradient(a, [&](auto const& array) { sums.found(array); });
    sums.require_found();
}

/// Calls compute(bound call, asked...) for the arguments of gradient, if they make a call.
template <class Compute, attention_spec A, class... Arguments>
void with_gradient_call(Compute const& compute, A const& a, Arguments&&... arguments) {
    if constexpr (is_call<Arguments...>()) {
        auto const bound = bind_gradient(a, arguments...);
        if constexpr (!is_ill_formed<decltype(bound)>) {
            [[maybe_unused]] auto const asked = [](auto const& argument) {
                if constexpr (asked_gradient<decltype(argument)>) return std::tuple(argument);
                else return std::tuple();
            };
            std::apply([&](auto const&... each) { compute(bound, each...); }, std::tuple_cat(asked(arguments)...));
        }
    }
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
