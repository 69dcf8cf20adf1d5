// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient that has been checked: by passes over tiles, or, where there is no pass for it, by the definition.
#pragma once

#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/dense/backward/normalizer_gradient.hpp>
#include <fovea/driver/dense/backward/softmax_gradient.hpp>
#include <fovea/driver/graph/backward/run_listed_gradient.hpp>
#include <fovea/driver/recurrent/backward/recurrent_gradient.hpp>
#include <fovea/driver/run/executor.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/call/wide_integers.hpp>

namespace fovea::FOVEA_SET::driver {

/// True where weights are exponentials that the sums of their row give again, so that no row is kept.
template <class T, class A>
constexpr bool recomputes_weights() {
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    return carries_rows<T, A> && (!row_dependent_normalizer<normalizer> || gives_gradient_of_row<normalizer, T>)
        && !is_reweighted<std::remove_cvref_t<decltype(std::declval<A const&>().normalize)>>;
}

/// True where a gradient is computed in passes, whatever the score is.
template <class T, class A>
constexpr bool has_gradient_pass() {
    using aggregate = std::remove_cvref_t<decltype(std::declval<A const&>().aggregate)>;
    constexpr bool plain = !projection<decltype(std::declval<A const&>().project)> && !is_finished<aggregate>;
    constexpr bool in_pairs = row_reading_aggregator<aggregate> && plan::lists_keys<A>;
    return plain && !in_pairs && (is_recurrent<A> || linear_aggregator<aggregate>);
}

/// The tables that an expression reads, as grad(...) names them.
template <class E, class Asked>
inline constexpr plan::table_reads asked_reads =
    plan::reads_of<std::remove_cvref_t<E>, parameter<typename Asked::element, Asked::rank>>;
/// Whether the weights of an attention may read such a table.
template <class A, class Asked>
inline constexpr bool may_read =
    asked_reads<decltype(std::declval<A const&>().score.expression()), Asked>.any
    || asked_reads<decltype(reweighting_of(std::declval<A const&>().normalize)), Asked>.any || adds_to_values<A>
    || row_dependent_normalizer<std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>>;

/// Whether a table that is asked for is among those that the weights of an attention read, and by which indices.
struct found_table {
    bool any = false;
    plan::table_reads reads{};
};
template <class A, class Asked>
found_table find_table(A const& a, Asked const& asked) {
    found_table found;
    fovea::detail::for_each_expression_of_weights(a, [&](auto const& e) {
        bool here = false;
        fovea::detail::for_each_table_of(e, [&](auto const& table) { here = here || fovea::names(asked, table); });
        if (here) found.reads = plan::both(found.reads, asked_reads<decltype(e), Asked>);
        found.any = found.any || here;
    });
    return found;
}

/// Whether the elements of a table differ along an axis, or there is none: one element may stand for all positions.
template <class Element, int Rank>
bool differs_along(view<Element const, Rank> const& table, int axis) {
    return axis >= 0 && table.extent(axis) > 1;
}

/// A table that is asked for, its sums, and which tasks reach one element of it.
template <class T, class Table>
struct asked_table {
    Table of;
    T* sums;
    reached_by reached;
};

/// Calls f with the sums of the tables of the weights that are asked for: none are computed where none is. Each key
/// head is one task or several.
template <class T, class A, class Call, class Sums, class F, class... Asked>
void with_table_sums(workspace& scratch, A const& a, Call const& call, Sums& sums, F const& f, Asked const&... asked) {
    index_t const batches = call.shapes.batches(), key_heads = call.shapes.key_heads(), queries = call.shapes.queries();
    gradient_tasks const tasks{batches, key_heads, plan::query_splits(batches * key_heads, queries)};
    bool any = false;
    auto const may_be_read = [&]<std::size_t N>(std::integral_constant<std::size_t, N>, auto const& each) {
        using type = std::remove_cvref_t<decltype(each)>;
        if constexpr (may_read<A, type>) {
            auto const [found, reads] = find_table(a, each);
            any = any || found;
            bool const by_head = differs_along(each.of, reads.head) || key_heads == 1,
                       apart = by_head && (differs_along(each.of, reads.batch) || batches == 1)
                            && (differs_along(each.of, reads.query) || tasks.splits == 1);
            using table_type = std::remove_const_t<decltype(each.of)>;
            return std::make_tuple(asked_table<T, table_type>{found ? each.of : table_type{},
                                                              found ? sums.template of_asked<N>() : nullptr,
                                                              apart || !found ? reached_by::one_task
                                                              : by_head       ? reached_by::tasks_of_one_head
                                                                              : reached_by::any_tasks});
        } else {
            return std::tuple<>();
        }
    };
    auto const tables = [&]<std::size_t... N>(std::index_sequence<N...>) {
        return std::tuple_cat(may_be_read(std::integral_constant<std::size_t, N>(), asked)...);
    }(std::index_sequence_for<Asked...>());
    if constexpr (std::tuple_size_v<std::remove_const_t<decltype(tables)>> > 0)
        if (any)
            return std::apply(
                [&](auto const&... each) {
                    f(table_sink<T, std::remove_const_t<decltype(each.of)>...>(
                        {each.of...}, {each.sums...}, {each.reached...}, scratch.shared(), tasks));
                },
                tables);
    f(table_sink<T>({}, {}, {}, scratch.shared(), tasks));
}

/// The pass of an attention whose score, mask and normalizer have been lowered.
template <class T, class Arch, class A, class Lowered, class Q, class K, class Backward, class Executor, class Tables>
void run_weights_gradient(Executor const& executor, workspace& scratch, Lowered const& lowered,
                          score_operands<Q, K> const& operands, Backward const& backward, Tables const& tables) {
    if constexpr (recomputes_weights<T, A>()) {
        plan::lowered_score const spec{lowered.score, lowered.predicate};
        run_softmax_gradient<T, Arch>(executor, scratch, spec, lowered.normalize, operands, backward, tables);
    } else {
        run_normalizer_gradient<T, Arch>(executor, scratch, lowered, operands, backward, tables);
    }
}

/// The gradients of queries, keys, values and tables, in passes; those of tables are added to `sums`, those of operands
/// are left in `targets`, or in scratch memory where there is none.
template <class T, class Arch, class Executor, class A, class Bound, class Sums, class... Asked>
operand_gradients<T> run_dense_gradient_pass(Executor const& executor, workspace& scratch, A const& a,
                                             Bound const& bound, operand_gradients<T> const& targets, Sums& sums,
                                             Asked const&... asked) {
    auto const& call = bound.call;
    auto const& q = call.query;
    using query = std::remove_cvref_t<decltype(*q.data)>;
    using keys = std::remove_cvref_t<decltype(call.key)>;
    using values = std::remove_cvref_t<decltype(call.value)>;
    using d_result = std::remove_const_t<std::remove_pointer_t<decltype(bound.d_result.data)>>;
    bool const exact = needs_wide_integers<T>(a, call.shapes);
    zeros_for_tables const zeros{scratch.shared(), q.extent(3)};
    auto const lowered =
        plan::lower_attention(a, [&](auto const& expression) { return with_elements(expression, zeros); });
    auto const rows_for = [&](view<T, 4> const& target, extents_t<4> const& extents) {
        return target.data != nullptr ? target : fresh_rows<T>(scratch, extents);
    };
    auto const d_query = rows_for(targets.query, q.extents), d_key = rows_for(targets.key, call.key.extents),
               d_value = rows_for(targets.value, call.value.extents);
    score_operands<query, keys> const operands{q, call.key, exact};
    // Saved rows do not say of a sink whether its row has keys beside it, and only then has its log-sum-exp a gradient.
    constexpr bool has_sink = row_dependent_normalizer<std::remove_cvref_t<decltype(normalizer_of(a.normalize))>>;
    bool const takes_saved = bound.saved && !(has_sink && bound.d_lse.data != nullptr);
    auto known = takes_saved ? saved_statistics<T>(*bound.saved) : saved_statistics<T>();
    known.d_lse = bound.d_lse;
    constexpr int parts = plan::gradient_parts<query, Asked...>;
    gradient_operands<T, values, d_result, parts> const backward{call.value, bound.d_result, d_query,
                                                                 d_key,      d_value,        known};
    with_table_sums<T>(
        scratch, a, call, sums,
        [&](auto const& tables) {
            run_weights_gradient<T, Arch, A>(executor, scratch, lowered, operands, backward, tables);
        },
        asked...);
    return {d_query, d_key, d_value};
}

/// The same of any call whose keys are not listed.
template <class T, class Arch, class Executor, class A, class Bound, class Sums, class... Asked>
operand_gradients<T> run_gradient_pass(Executor const& executor, workspace& scratch, A const& a, Bound const& bound,
                                       operand_gradients<T> const& targets, Sums& sums, Asked const&... asked) {
    if constexpr (is_recurrent<A>) return run_recurrent_pass<T, Arch>(executor, scratch, a, bound, sums, asked...);
    else return run_dense_gradient_pass<T, Arch>(executor, scratch, a, bound, targets, sums, asked...);
}

/// Calls add(sums) with the sums of what is asked for, if the result has elements, and writes them.
template <class T, class Runner, class A, class Bound, class Add, class... Asked>
void with_gradient_sums(Runner const& runner, workspace& scratch, A const& a, Bound const& bound, Add const& add,
                        Asked const&... asked) {
    workspace::call const alone(scratch);
    scratch.prepare(runner.workers());
    gradient_sink<T, Asked...> sums(asked...);
    fovea::detail::find_arrays(a, bound, sums);
    if (!bound.empty()) add(sums);
    sums.write();
}

/// run_gradient: a call of gradient that has passes, on a given architecture, executor and workspace; false where it is
/// one of a few over listed keys that have none after all, and nothing has been written.
template <class Arch, class Executor, class A, class Bound, class... Asked>
bool run_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    decltype(auto) runner = runner_of(executor);
    if constexpr (plan::lists_keys<A>) {
        return !bound.d_result.empty()
            && in_wide_enough<T>(a, bound.call, [&]<class Number>(std::type_identity<Number>) {
                   return run_listed_gradient<Number, Arch>(runner, scratch, a, bound, asked...);
               });
    } else {
        with_gradient_sums<T>(
            runner, scratch, a, bound,
            [&](auto& sums) {
                auto const& query = bound.call.query;
                auto const& key = bound.call.key;
                auto const& value = bound.call.value;
                operand_gradients<T> targets{};
                if constexpr (!is_recurrent<A>)
                    targets = {sums.rows_in_target(query, key, value), sums.rows_in_target(key, query, value),
                               sums.rows_in_target(value, query, key)};
                auto const d = run_gradient_pass<T, Arch>(runner, scratch, a, bound, targets, sums, asked...);
                sums.add_lasting_rows(query, d.query.data);
                sums.add_lasting_rows(key, d.key.data);
                sums.add_lasting_rows(value, d.value.data);
            },
            asked...);
        return true;
    }
}

}  // namespace fovea::FOVEA_SET::driver
