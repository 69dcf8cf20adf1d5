// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compile-time checks of a call: one sentence for each mistake, and true where there is none.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/spec/feature_tables.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/shapes.hpp>
#include <fovea/spec/whole_row.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// The sentences for a specification that lacks a part.
template <class Project, class Score, class Mask, class Normalize, class Aggregate>
constexpr bool is_complete(attention<Project, Score, Mask, Normalize, Aggregate> const*) {
    constexpr bool has_score = !is_empty_slot<Score>;
    constexpr bool has_normalizer = !is_empty_slot<Normalize> && !is_only_keeping<Normalize>;
    constexpr bool has_aggregator = !is_empty_slot<Aggregate>;
    static_assert(has_score, "fovea: this specification has no score function: begin it with one, such as scaled_dot");
    static_assert(has_normalizer,
                  "fovea: this specification has no normalizer: write `| softmax`, or `| unnormalized` if the scores "
                  "are the weights");
    static_assert(has_aggregator, "fovea: this specification has no aggregator: write `| weighted_sum` at its end");
    return has_score && has_normalizer && has_aggregator;
}

/// False where `linear` is claimed of a step that the compiler finds to be another; the loops would not call it.
template <class A>
constexpr bool is_step_as_claimed() {
    constexpr bool known = requires { std::bool_constant<(A{}.step(1.0, 2.0, 3.0) == 7.0)>{}; };
    if constexpr (linear_aggregator<A> && known) {
        constexpr bool adds = A{}.step(1.0, 2.0, 3.0) == 7.0 && A{}.step(-2.0, 0.5, 8.0) == 2.0;
        static_assert(adds, "fovea: linear says that step is sum + weight * value, and this step is another");
        return adds;
    } else return true;
}

/// Whether the tables of an expression are read with as many indices as they need, and with integers.
template <class E, bool InSum>
constexpr bool has_sound_tables();

template <class E>
inline constexpr bool has_sound_indices = true;
template <class T, int Rank, class... Indices>
inline constexpr bool has_sound_indices<node<at_operation, parameter<T, Rank>, Indices...>> = [] {
    constexpr bool whole = (is_whole_number<Indices> && ...);
    constexpr bool of_pair = !(uses_outside_sum<Indices, q_t, k_t> || ...);
    static_assert(whole, "fovea: the index of a table must be an integer expression");
    static_assert(of_pair, "fovea: the index of a table is the same for all features: it cannot use q or k");
    return whole && of_pair && (has_sound_tables<Indices, false>() && ...);
}();

/// Operations of conditions, and those that take a condition first.
template <class Operation>
inline constexpr bool is_logical =
    std::is_same_v<Operation, operations::logical_and> || std::is_same_v<Operation, operations::logical_or>
    || std::is_same_v<Operation, operations::logical_not>;
template <class Operation, class... Children>
constexpr bool has_sound_kinds() {
    constexpr bool selects = std::is_same_v<Operation, operations::select>;
    constexpr bool is_first[] = {is_condition<Children>...};
    constexpr bool conditions = selects ? is_first[0] : !is_logical<Operation> || (is_condition<Children> && ...);
    static_assert(conditions, "fovea: this is a number, and a condition is needed: compare it, as in x != 0");
    constexpr int others = (int{is_condition<Children>} + ... + 0) - (selects && is_first[0] ? 1 : 0);
    constexpr bool numbers = is_logical<Operation> || others == 0;
    static_assert(numbers, "fovea: a condition is not a number: write select(condition, x, 0)");
    return conditions && numbers;
}

template <class E, bool InSum>
constexpr bool has_sound_children() {
    if constexpr (is_node_of<operations::modulo, E>) {
        constexpr bool whole = is_whole_number<E>;
        static_assert(whole, "fovea: % needs integers");
        if (!whole) return false;
    }
    if constexpr (is_node_of<operations::floor_div, E>) {
        constexpr bool whole = is_whole_number<E>;
        static_assert(whole, "fovea: floor_div needs integers");
        if (!whole) return false;
    }
    if constexpr (is_node_of<operations::sum, E>) {
        return has_sound_tables<std::remove_cvref_t<decltype(get<0>(std::declval<E const&>()))>, true>();
    } else if constexpr (is_node_of<operations::features, E>) {
        static_assert(never<E>,
                      "fovea: features(first, end) is the second argument of sum(), as in sum(q * k, features(0, 64))");
        return false;
    } else
        return []<class Operation, class... Children>(node<Operation, Children...> const*) {
            if constexpr (!has_sound_kinds<Operation, Children...>()) return false;
            return (has_sound_tables<Children, InSum>() && ...);
        }(static_cast<E const*>(nullptr));
}

template <class E, bool InSum>
constexpr bool has_sound_tables() {
    constexpr int free = free_axes_of<E>;
    static_assert(InSum || free == 0, "fovea: a table outside sum() needs an index for each of its axes");
    static_assert(!InSum || free <= 1, "fovea: a table has at most one axis without an index, the one of the features");
    if constexpr (free > (InSum ? 1 : 0)) return false;
    else if constexpr (is_raw_half<typename feature_of<E>::type> || is_bit<typename feature_of<E>::type>)
        return has_features_of_numbers<typename feature_of<E>::type>();
    else if constexpr (is_node_of<at_operation, E>) return has_sound_indices<E>;
    else if constexpr (is_node<E>) return has_sound_children<E, InSum>();
    else return true;
}

/// The sentence for numbers of edges where no mask lists keys.
template <class Mask, class... E>
constexpr bool has_edges_where_listed() {
    constexpr bool listed = enumerating_mask<Mask> || !(uses<E, edge_t> || ...);
    static_assert(listed,
                  "fovea: edge is the number of an edge in a list of keys: add a mask that lists them, such as "
                  "neighbors(graph)");
    return listed;
}

/// The sentences for a finish; a map of the result reads its tables feature by feature, as a sum does.
template <class Finish>
constexpr bool is_sound_finish() {
    if constexpr (pointwise_finish<Finish>) {
        using mapped = decltype(std::declval<Finish const&>().expression());
        if constexpr (!has_sound_tables<mapped, true>()) return false;
        else return keeps_quotients_whole<mapped, true>();
    } else return is_sound_kind_of_finish<Finish>();
}
template <class Aggregate>
constexpr bool has_sound_finishes(Aggregate const*) {
    return true;
}
template <class First, class Second>
constexpr bool has_sound_finishes(finished<First, Second> const*) {
    return has_sound_finishes(static_cast<First const*>(nullptr)) && is_sound_finish<Second>();
}

/// The sentences for the expressions of a specification.
template <class A>
constexpr bool has_sound_expressions() {
    using score = decltype(std::declval<A const&>().score.expression());
    using mask = decltype(std::declval<A const&>().mask.predicate());
    using weight = decltype(reweighting_of(std::declval<A const&>().normalize));
    constexpr bool features_in_sums = !uses_outside_sum<score, q_t, k_t>;
    static_assert(features_in_sums, "fovea: q and k have features: in a score they stand inside sum()");
    if constexpr (!features_in_sums) return false;
    else if constexpr (!has_edges_where_listed<decltype(A::mask), score, mask, weight>()) return false;
    else if constexpr (!has_sound_tables<score, false>()) return false;
    else if constexpr (!has_sound_tables<mask, false>()) return false;
    else if constexpr (!has_sound_tables<weight, false>()) return false;
    else if constexpr (!keeps_quotients_whole<score, true>()) return false;
    else if constexpr (!keeps_quotients_whole<mask, false>()) return false;
    else if constexpr (!keeps_quotients_whole<weight, true>()) return false;
    else return has_sound_finishes(static_cast<decltype(A::aggregate) const*>(nullptr));
}

/// The sentences for an output that is asked for.
template <class A, class Asked>
constexpr bool is_sound_output() {
    using bound = decltype(std::declval<Asked const&>().bind(operand_shapes{}));
    using normalize = decltype(normalizer_of(std::declval<A const&>().normalize));
    constexpr bool has_log_sum = !takes_log_sum<bound> || log_sum_normalizer<normalize>;
    constexpr bool writable =
        gives_past_state<bound> || !std::is_const_v<std::remove_pointer_t<decltype(bound::target.data)>>;
    static_assert(has_log_sum, "fovea: lse was asked for, but this normalizer has no log_sum(state)");
    static_assert(writable, "fovea: an additional output is a view of const elements and cannot be written");
    return has_log_sum && writable && is_sound_beside_state<A, bound>();
}

/// All of these for one call.
template <class A, class Result, class... Extra>
constexpr bool is_well_formed_call() {
    constexpr bool writable = !std::is_const_v<Result>;
    constexpr bool holds_numbers = !std::is_same_v<Result, bool>;
    static_assert(writable, "fovea: the result is a view of const elements and cannot be written");
    static_assert(holds_numbers, "fovea: the result has elements of type bool, which hold no weighted sum");
    if constexpr (!writable || !holds_numbers) return false;
    else if constexpr (!is_complete(static_cast<A const*>(nullptr))) return false;
    else if constexpr (!has_sound_expressions<A>()) return false;
    else if constexpr (!is_step_as_claimed<decltype(core_of(std::declval<A const&>().aggregate))>()) return false;
    else if constexpr (!is_sound_recurrence<A>()) return false;
    else return (is_sound_output<A, Extra>() && ...);
}

/// The sentence for query and key whose types already say that they have different features.
template <class A, class Query, class Key>
constexpr bool has_comparable_features() {
    using score = decltype(std::declval<A const&>().score);
    constexpr index_t of_query = static_features<std::remove_cvref_t<Query>>;
    constexpr index_t of_key = static_features<std::remove_cvref_t<Key>>;
    constexpr bool known = of_query >= 0 && of_key >= 0 && !projection<decltype(A::project)>;
    if constexpr (known && of_query != of_key && score_function<score>) {
        constexpr bool compares = compares_features<decltype(std::declval<score const&>().expression())>;
        static_assert(!compares,
                      "fovea: the score compares query and key feature by feature, and their types have different "
                      "numbers of features");
        return !compares;
    }
    return true;
}

/// The sentence for a projection that would change keys or values in pages or of blocks.
template <class A, class Key, class Value>
constexpr bool keeps_sources() {
    if constexpr (projection<decltype(A::project)> && !(viewable<Key> && viewable<Value>)) {
        using project = std::remove_cvref_t<decltype(A::project)>;
        constexpr bool kept = project::heads_type::key_value == 1
                           && (viewable<Key> || makes_no_rows<std::remove_cvref_t<decltype(project::key)>>)
                           && (viewable<Value> || makes_no_rows<std::remove_cvref_t<decltype(project::value)>>);
        static_assert(kept,
                      "fovea: keys and values in pages or blocks are projected as_is, and have heads: "
                      "project(as_is | rotary, as_is, as_is)");
        return kept;
    }
    return true;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
