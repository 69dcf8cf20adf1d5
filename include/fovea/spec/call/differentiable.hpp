// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients that a specification has: the sentences for parts that have none, and the arrays that it reads.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/call/grad.hpp>
#include <fovea/spec/head_map_rows.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/row_gradient.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentence for a map of heads without a rule.
template <class Map>
constexpr bool has_head_map_gradient() {
    constexpr bool has_rule = linear_head_map<Map> || head_map_with_rule<Map>;
    static_assert(has_rule, "fovea: this map of heads has no gradient: give it gradient(x, d, place), or linear");
    return has_rule;
}
template <class Map>
constexpr bool has_row_map_gradient() {
    if constexpr (successive_map<Map>)
        return has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Map>().first)>>()
            && has_row_map_gradient<std::remove_cvref_t<decltype(std::declval<Map>().second)>>();
    else if constexpr (headwise_map<Map>)
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
/// The state that the call began with, or the gradient of the one that it left.
template <class T>
concept state_of_gradient = requires { typename T::state_of_gradient_tag; };

/// The gradient of the log-sum-exp, and what has one: normalizers whose rows are given again by a maximum and a sum.
template <class T>
concept gradient_of_lse = requires { typename T::d_lse_tag; };
template <class N>
concept has_rows_again = requires(N const& n, typename N::template state<double> s) {
    n.max_and_sum(s);
    n.log_sum(s);
};
template <class N>
inline constexpr bool has_lse_gradient = has_rows_again<row_normalizer<N>>;
template <row_dependent_normalizer N>
inline constexpr bool has_lse_gradient<N> =
    has_rows_again<row_normalizer<N>>
    && requires(N const& n, row_coordinates_archetype<double> at) { n.gradient_of_row(0.0, 0.0, 0.0, at); };

/// Whether an attention takes the gradient of its log-sum-exp.
template <class A>
inline constexpr bool takes_d_lse = [] {
    using normalize = decltype(A::normalize);
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    using aggregate = std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>;
    return has_lse_gradient<normalizer> && linear_aggregator<aggregate> && !is_reweighted<std::remove_cv_t<normalize>>;
}();

/// The sentences for parts of a specification that have no gradient, and for what is asked for beside gradients.
template <class A, class... Asked>
constexpr bool has_gradients() {
    using normalize = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    using aggregate = std::remove_cvref_t<decltype(core_of(std::declval<A const&>().aggregate))>;
    constexpr bool only = ((asked_gradient<Asked> || has_saved_rows<Asked> || state_of_gradient<Asked>
                            || gradient_of_lse<Asked> || gradient_of_weights<Asked>)
                           && ...)
                       && (asked_gradient<Asked> || ...);
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
    constexpr bool takes_states = is_recurrent<A> || !(state_of_gradient<Asked> || ...);
    static_assert(!only || takes_states,
                  "fovea: past_state, present_state and d_present_state belong to an attention with running_state");
    constexpr bool lse = !(gradient_of_lse<Asked> || ...) || takes_d_lse<A>;
    static_assert(
        !only || !adds || !smooth || lse,
        "fovea: d_lse is the gradient of the log-sum-exp of softmax or a relative, without reweight after it");
    constexpr bool weights = linear_aggregator<aggregate> || !(gradient_of_weights<Asked> || ...);
    static_assert(!only || weights, "fovea: d_weights and d_entropy belong to weights, and a running state has none");
    if constexpr (!only || !adds || !smooth || !takes_states || !lse || !weights) return false;
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

/// A stand-in for a row of which a normalizer asks coordinates, to see the expressions that it reads.
template <class See>
struct expressions_of_row {
    See const& see;
    double operator()(auto const& e) const {
        see(e);
        return 1;
    }
};

/// Calls see(expression) for all that weights are computed of: the score, numbers of the normalizer's rows, and the
/// reweighting, and what an aggregator adds to values.
template <attention_spec A, class See>
void for_each_expression_of_weights(A const& a, See const& see) {
    see(a.score.expression());
    auto const normalizer = normalizer_of(a.normalize);
    if constexpr (row_dependent_normalizer<std::remove_const_t<decltype(normalizer)>>)
        static_cast<void>(normalizer.for_row(expressions_of_row<See>{see}));
    see(reweighting_of(a.normalize));
    if constexpr (adds_to_values<A>) see(core_of(a.aggregate).added());
}

/// Calls found(array) for each matrix, bias and table of a row map.
template <class Map, class Found>
void for_each_parameter(Map const& map, Found const& found) {
    for_each_row_map(map, [&](auto const& one) {
        auto const& below = row_map_below(one);
        if constexpr (linear_map<std::remove_cvref_t<decltype(below)>>) {
            found(below.matrix);
            if (has_bias(below)) found(*below.bias);
        }
        for_each_head_map_table(one, [&](auto const& table) { for_each_form(table, found); });
    });
}

/// Calls found(array) for each array that a specification reads and of which it has a gradient.
template <attention_spec A, class Found>
void for_each_array_with_gradient(A const& a, Found const& found) {
    if constexpr (projection<decltype(a.project)>) {
        for_each_parameter(a.project.query, found);
        for_each_parameter(a.project.key, found);
        for_each_parameter(a.project.value, found);
    }
    for_each_expression_of_weights(a, [&](auto const& e) { for_each_table_of(e, found); });
    if constexpr (is_recurrent<A>) {
        auto const rules = core_of(a.aggregate);
        if constexpr (decltype(rules)::gated) found(rules.gate.decay);
        if constexpr (decltype(rules)::corrected) found(rules.correction.rate);
    }
    for_each_finish(a.aggregate, [&](auto const& finish) {
        using finish_type = std::remove_cvref_t<decltype(finish)>;
        if constexpr (linear_finish<finish_type>) for_each_parameter(finish.linear(), found);
        else if constexpr (pointwise_finish<finish_type>) for_each_table_of(finish.expression(), found);
    });
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
