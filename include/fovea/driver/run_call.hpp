// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call that has been checked: its specification is lowered, and the traversal runs that the plan names.
#pragma once

#include <fovea/driver/call/added_values.hpp>
#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/key_lanes_sums.hpp>
#include <fovea/driver/dense/pass/engine.hpp>
#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/pass/shown_scores.hpp>
#include <fovea/driver/dense/query_lanes_scores.hpp>
#include <fovea/driver/dense/query_lanes_sums.hpp>
#include <fovea/driver/dense/table_extremes.hpp>
#include <fovea/driver/graph/listed_loop.hpp>
#include <fovea/driver/layer/finish.hpp>
#include <fovea/driver/layer/project.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>
#include <fovea/driver/run/part.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/wide_integers.hpp>
#include <fovea/spec/fixed_order.hpp>

namespace fovea::FOVEA_SET::driver {

/// Whether every finish of an aggregate works in place.
template <class Aggregate>
constexpr bool finishes_in_place() {
    if constexpr (is_finished<Aggregate>)
        return works_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().second)>>
            && finishes_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().first)>>();
    else return true;
}

/// A dense call by its plan: of the traversals that its types take, the one that the plan names.
template <class Call, class Executor>
void run_dense(plan::call_plan const& how, Executor const& executor, workspace& scratch,
               typename Call::spec const& spec, typename Call::operands const& operands) {
    using plan::traversal;
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    constexpr bool outputs_reduce_over_queries = Call::operands::outputs_reduce_over_queries;
    known_extremes<std::remove_const_t<decltype(Call::spec::predicate)>> const known(
        executor, scratch.shared(), spec.predicate, operands.queries());
    if constexpr (Call::takes(traversal::query_lanes))
        if (how.by == traversal::query_lanes) {
            using lanes = query_lanes_of<Call>;
            context_of<Call, lanes> context(how, spec, operands);
            context.known = &known;
            return dense_loop<online<lanes>>(context).run(executor, scratch, outputs_reduce_over_queries);
        }
    using lanes = key_lanes_of<Call>;
    context_of<Call, lanes> context(how, spec, operands);
    context.known = &known;
    if constexpr (Call::takes(traversal::split_keys))
        if (how.by == traversal::split_keys) return run_split_keys<T, Arch>(context, executor, scratch);
    if constexpr (Call::takes(traversal::whole_rows))
        dense_loop<whole_rows<lanes>>(context).run(executor, scratch, outputs_reduce_over_queries);
    else dense_loop<online<lanes>>(context).run(executor, scratch, outputs_reduce_over_queries);
}

/// The sentences for a call that asks for sums of a fixed order and has others.
template <class Call, class A>
constexpr bool has_sound_order() {
    constexpr bool asks = asks_for_fixed_order<sum_of_values<A>>, lists = Call::takes(plan::traversal::listed_keys);
    constexpr bool whole_rows = Call::takes(plan::traversal::whole_rows);
    static_assert(!asks || !lists, "fovea: this mask lists the keys of each query: leave out batch_invariant");
    static_assert(!asks || !whole_rows,
                  "fovea: batch_invariant takes keys block by block, and a normalizer, reweighting or output of this "
                  "call reads whole rows: leave it out");
    return !asks || (!lists && !whole_rows);
}

/// A call by its plan.
template <class T, class Arch, class A, class Operands, class Executor>
void run_loop(Executor const& executor, workspace& scratch, A const& a, Operands const& operands) {
    using plan::traversal;
    using call = plan::call_of<T, Arch, A, Operands>;
    auto const how = plan::make_plan<T, Arch, A, Operands>(operands.sizes());
    if constexpr (!has_sound_order<call, A>()) {
        return;
    } else if constexpr (call::takes(traversal::running_state)) {
        recurrent_loop<call>(how, a, operands).run(executor, scratch);
    } else {
        zeros_for_tables const zeros{scratch.shared(), operands.features()};
        typename call::spec const spec =
            plan::lower_attention(a, [&](auto const& expression) { return with_elements(expression, zeros); });
        if constexpr (call::takes(traversal::listed_keys))
            listed_loop<call>(spec, operands, a.mask.neighbor_list()).run(executor, scratch);
        else run_dense<call>(how, in_tile_configurations_of<call>(executor), scratch, spec, operands);
    }
}

/// The traversal that runs, and its operands.
template <class Executor, class A, class Call>
struct attention_run {
    Executor const& executor;
    workspace& scratch;
    A const& attention;
    Call const& call;
};

/// The attention itself, on heads: everything between the projections and the finishes.
template <class T, class Arch, class Run, class Q, class K, class V, class Out>
FOVEA_CONTROL void attend_rows(Run const& run, view<Q const, 4> const& q, K const& k, V const& v,
                               view<Out, 4> const& out) {
    auto const& [executor, scratch, a, call] = run;
    using A = std::remove_cvref_t<decltype(a)>;
    bool const exact = needs_wide_integers<T>(a, call.shapes);
    auto const outputs = with_added_values<T, Arch>(scratch, a, call.shapes, call.outputs());
    for_each_output(outputs, [&](auto const& output) {
        using bound = std::remove_cvref_t<decltype(output)>;
        if constexpr (requires { output.begin(); }) output.begin();
        if constexpr (takes_all_scores<bound, std::remove_cvref_t<decltype(a)>>) {
            zeros_for_tables const zeros{scratch.shared(), q.extent(3)};
            show_all_scores<T, Arch>(executor, scratch, with_elements(output.score_of(a).expression(), zeros),
                                     score_operands<Q, K>{q, k, exact}, output);
        }
    });
    run_loop<T, Arch>(executor, scratch, a,
                      operands<Q, K, V, Out, std::remove_const_t<decltype(outputs)>>{q, k, v, out, outputs, exact});
    for_each_output(outputs, [&](auto const& output) { add_to_result(output, out); });
    finish_outputs<T, A>(executor, outputs, out);
}

/// The same for rows from any source: a list of edges and a running state read them one at a time, in memory.
template <class T, class Arch, class Run, class Q, class K, class V, class Out>
void attend_heads(Run const& run, view<Q const, 4> const& q, K const& k, V const& v, view<Out, 4> const& out) {
    if constexpr (plan::is_dense<std::remove_cvref_t<decltype(run.attention)>>) attend_rows<T, Arch>(run, q, k, v, out);
    else attend_rows<T, Arch>(run, q, in_memory<T>(k, run.scratch), in_memory<T>(v, run.scratch), out);
}

/// The finishes of an attention on the rows of its heads, which lie in the result already where `InPlace`.
template <bool InPlace, class Arch, class Executor, class A, class T, class Source, class Out>
void finish_rows(Executor const& executor, workspace& scratch, A const& a, view<T, 4> x, view<Source, 4> const& query,
                 view<Out, 4> const& out) {
    for_each_finish(a.aggregate, [&](auto const& f) { x = finish<T, Arch>(executor, scratch, f, x, query); });
    if constexpr (!InPlace) {
        if (x.extents != out.extents) x = joined(x);
        copy_rows(executor, x, out);
    }
}

/// Whether an output saves the rows of the result, with all bits that they are computed with.
template <class Outputs>
inline constexpr bool saves_rows = false;
template <class... Output>
inline constexpr bool saves_rows<std::tuple<Output...>> = (takes_row_state<Output> || ...);

/// Whether a call saves rows with more bits than its result has.
template <class T, class A, class Call>
inline constexpr bool saves_more_bits =
    !std::is_same_v<typename Call::result_element, T> && saves_rows<typename Call::outputs_type> && carries_rows<T, A>;

/// Whether the heads of a call are computed straight into its result.
template <class T, class A, class Call>
inline constexpr bool is_heads_alone =
    !projection<decltype(A::project)> && !is_finished<std::remove_cvref_t<decltype(A::aggregate)>>
    && (!adds_to_values<A> || std::is_same_v<typename Call::result_element, T>) && !saves_more_bits<T, A, Call>;

/// Whether an output is begun before the heads, or completed after them.
template <class Output>
inline constexpr bool has_phases =
    requires(Output const& output) { output.begin(); } || requires(Output const& output) { output.complete(); };
template <class... Output>
inline constexpr bool has_phases<std::tuple<Output...>> = (has_phases<Output> || ...);

/// Runs the heads into the result and finishes there, or into scratch memory, position by position, where the result
/// has other elements or a finish makes other rows of them.
template <class T, class Arch, class Run, class Q, class K, class V>
void attend_and_finish(Run const& run, view<Q const, 4> const& q, K const& k, V const& v) {
    auto const& [executor, scratch, a, call] = run;
    auto const& out = call.result;
    using Out = std::remove_pointer_t<decltype(out.data)>;
    using aggregate = std::remove_cvref_t<decltype(a.aggregate)>;
    constexpr bool in_result = std::is_same_v<Out, T> && finishes_in_place<aggregate>();
    if constexpr (is_heads_alone<T, std::remove_cvref_t<decltype(a)>, std::remove_cvref_t<decltype(call)>>) {
        attend_heads<T, Arch>(run, q, k, v, out);
    } else {
        index_t const heads = call.shapes.heads(), row = heads * call.shapes.features();
        view<T, 4> x;
        if constexpr (in_result) x = out.extent(1) == 1 ? split_heads(out, heads, "result") : out;
        else x = split_heads(fresh_rows<T>(scratch, {out.extent(0), 1, out.extent(2), row}), heads, "result");
        attend_heads<T, Arch>(run, q, k, v, x);
        finish_rows<in_result, Arch>(executor, scratch, a, x, call.query, out);
    }
}

/// run_call: a call that has been bound, on a given architecture, executor and workspace.
template <class Arch, class Executor, class A, class Call>
FOVEA_INLINE void run_call(Executor const& executor, workspace& scratch, A const& a, Call const& call) {
    if (call.writes_nothing()) return;
    using T = typename Call::number;
    constexpr bool independent =
        is_heads_alone<T, A, Call> && !adds_to_values<A> && !has_phases<typename Call::outputs_type>;
    if constexpr (!runs_in_parts<Executor, independent>()) return;
    decltype(auto) runner = runner_of(executor);
    workspace::call const alone(scratch);
    scratch.prepare(workers_of_call(runner));
    attention_run<std::remove_cvref_t<decltype(runner)>, A, Call> const run{runner, scratch, a, call};
    kernel::on_usable<Arch, T, asked_parts_of<A>, typename Call::query_element>(
        [&]<class Usable>(std::type_identity<Usable>) {
            with_projected<T, Usable>(runner, scratch, a, call, [&](auto const& q, auto const& k, auto const& v) {
                attend_and_finish<T, Usable>(run, q, k, v);
            });
        });
}

}  // namespace fovea::FOVEA_SET::driver
