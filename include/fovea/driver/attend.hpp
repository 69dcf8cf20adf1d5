// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points: check the shapes, lower the specification, run the traversal that it calls for.
#pragma once

#include <fovea/driver/dense/engine.hpp>
#include <fovea/driver/dense/lane_spec.hpp>
#include <fovea/driver/dense/row_spec.hpp>
#include <fovea/driver/empty_tables.hpp>
#include <fovea/driver/executor.hpp>
#include <fovea/driver/finish.hpp>
#include <fovea/driver/graph/enumerated.hpp>
#include <fovea/driver/project.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>
#include <fovea/spec/arguments.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/exact_integers.hpp>
#include <fovea/spec/inputs.hpp>

namespace fovea::FOVEA_SET {

namespace driver {

/// Rows that are not written: a view of const elements; pages are that already.
template <class Rows>
constexpr auto only_read(Rows const& rows) {
    if constexpr (is_paged<Rows>) return rows;
    else return view<element_of_rows<Rows> const, 4>(rows);
}

/// Whether every finish of an aggregate works in place.
template <class Aggregate>
constexpr bool finishes_in_place() {
    if constexpr (is_finished<Aggregate>)
        return works_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().second)>>
            && finishes_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().first)>>();
    else return true;
}

/// A dense call by its plan.
template <class T, class Arch, class Recipe, class Operands, class Executor>
void run_dense(Executor const& executor, workspace& scratch, Recipe const& recipe, Operands const& operands) {
    using call = plan::dense_call<T, Arch, Recipe, Operands>;
    auto const how = plan::make_dense_plan<T, Arch, Recipe, Operands>(operands.queries(), operands.group(),
                                                                      operands.keys(), operands.features());
    if constexpr (call::may_take_query_lanes)
        if (how.by == plan::traversal::query_lanes) {
            auto const context = lane_spec<call>::make_context(how, recipe, operands);
            return dense_loop<lane_tile<T, Arch>>(context).run(executor, scratch, Operands::adds_up);
        }
    auto const context = row_spec<call>::make_context(how, recipe, operands);
    if constexpr (call::may_split_keys)
        if (how.by == plan::traversal::split_keys) return run_split_keys<T, Arch>(context, executor, scratch);
    if constexpr (call::whole_rows) whole_rows<T, Arch>(context).run(executor, scratch, Operands::adds_up);
    else dense_loop<row_tile<T, Arch>>(context).run(executor, scratch, Operands::adds_up);
}

/// The traversal that the plan of a call names.
template <class T, class Arch, class A, class Operands, class Executor>
void run_loop(Executor const& executor, workspace& scratch, A const& a, Operands const& operands) {
    if constexpr (is_recurrent<A>) {
        recurrent_loop<T, Arch, A, Operands>(a, operands).run(executor, scratch);
    } else {
        constexpr bool lists_keys = enumerating_mask<decltype(a.mask)>;
        zeros_for_tables const zeros{scratch.shared(), operands.features()};
        recipe const parts{plan::lower_for<lists_keys>(with_elements(a.score.expression(), zeros)),
                           with_elements(a.mask.predicate(), zeros), normalizer_of(a.normalize),
                           with_elements(reweighting_of(a.normalize), zeros), core_of(a.aggregate)};
        using recipe_type = std::remove_const_t<decltype(parts)>;
        if constexpr (lists_keys)
            enumerated_loop<T, Arch, recipe_type, Operands>(parts, operands, a.mask.neighbor_list())
                .run(executor, scratch);
        else run_dense<T, Arch>(executor, scratch, parts, operands);
    }
}

/// What runs, and on what.
template <class Executor, class A>
struct attention_run {
    Executor const& executor;
    workspace& scratch;
    A const& attention;
    operand_shapes const& shapes;
};

/// The attention itself, on heads: everything between the projections and the finishes.
template <class T, class Arch, class A, class Q, class K, class V, class Out, class Executor, class... Extra>
void attend_heads(attention_run<Executor, A> const& run, view<Q const, 4> const& q, K const& k, V const& v,
                  view<Out, 4> const& out, Extra const&... extra) {
    auto const& [executor, scratch, a, shapes] = run;
    bool const exact = [&] {
        if constexpr (sizeof(T) == 4) return needs_exact_integers(a, shapes);
        else return false;
    }();
    auto const outputs = std::tuple(extra.bind(shapes)...);
    for_each_output(outputs, [&](auto const& output) {
        using bound = std::remove_cvref_t<decltype(output)>;
        if constexpr (requires { output.begin(); }) output.begin();
        if constexpr (needs_own_pass<bound, A>) {
            auto nothing = v;
            nothing.extents[3] = 0;
            auto no_result = out;
            no_result.extents[3] = 0;
            auto const rows = std::tuple(output.rows());
            operands<Q, K, V, Out, std::remove_const_t<decltype(rows)>> const all{q,         k,    nothing,
                                                                                  no_result, rows, exact};
            run_loop<T, Arch>(executor, scratch, output.pass(a), all);
        }
    });
    operands<Q, K, V, Out, std::remove_const_t<decltype(outputs)>> const all{q, k, v, out, outputs, exact};
    run_loop<T, Arch>(executor, scratch, a, all);
}

/// Runs the heads into `out` (as heads, position by position) and then the finishes.
template <class T, class Arch, class A, class Q, class K, class V, class Source, class Out, class Executor,
          class... Extra>
void attend_and_finish(attention_run<Executor, A> const& run, view<Q const, 4> const& q, K const& k, V const& v,
                       view<Source, 4> const& source, view<Out, 4> const& out, Extra const&... extra) {
    auto const& [executor, scratch, a, shapes] = run;
    if constexpr (!projection<decltype(a.project)> && !is_finished<decltype(a.aggregate)>) {
        attend_heads<T, Arch>(run, q, k, v, out, extra...);
    } else {
        extents_t<4> const heads{shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()};
        index_t const row = heads[1] * heads[3];
        constexpr bool direct =
            std::is_same_v<Out, T> && finishes_in_place<std::remove_cvref_t<decltype(a.aggregate)>>();
        bool const joined_result = out.extent(1) == 1;
        view<T, 4> x;
        bool in_result = false;
        if constexpr (direct) {
            in_result = true;
            x = joined_result ? view<T, 4>{out.data, heads, {out.stride(0), heads[3], out.stride(2), 1}} : out;
        }
        if (!in_result)
            x = {scratch.shared().template take<T>(heads[0] * heads[2] * row),
                 heads,
                 {heads[2] * row, heads[3], row, 1}};
        attend_heads<T, Arch>(run, q, k, v, x, extra...);
        for_each_finish(a.aggregate, [&](auto const& f) { x = finish<T, Arch>(executor, scratch, f, x, source); });
        if (in_result) return;
        if (x.extents != out.extents) x = joined(x);
        for_rows(out, [&](Out* to, index_t b, index_t n, index_t h) {
            T const* const from = x.place(b, h, n, index_t{0});
            for (index_t c = 0; c < out.extent(3); ++c) to[c] = static_cast<Out>(from[c]);
        });
    }
}

}  // namespace driver

/// attend_on<Arch>: attend below on a given architecture, executor and workspace.
template <class Arch, executor Executor, attention_spec A, viewable Query, row_source Key, row_source Value,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Query const& query, Key const& key,
               Value const& value, Result&& result, Extra const&... extra) {
    auto const q = as_heads(detail::operand_of(query));
    auto const k = as_rows(key);
    auto const v = as_rows(value);
    auto const out = as_heads(detail::operand_of(result));
    auto const shapes = check_call(a, q, k, v, out, extra...);
    if constexpr (!is_ill_formed<decltype(shapes)> && detail::has_comparable_features<A, Query, Key>()) {
        if (writes_nothing(out, extra.bind(shapes.operands)...)) return;
        using namespace driver;
        using q_element = std::remove_const_t<std::remove_pointer_t<decltype(q.data)>>;
        using k_element = element_of_rows<decltype(k)>;
        using v_element = element_of_rows<decltype(v)>;
        using out_element = std::remove_pointer_t<decltype(out.data)>;
        using T = compute_type<q_element, k_element, v_element, out_element>;
        scratch.prepare(executor.workers());
        auto const run = [&](auto const& x, auto const& y, auto const& z) {
            attend_and_finish<T, Arch>(attention_run<Executor, A>{executor, scratch, a, shapes.operands}, x, y, z, q,
                                       out, extra...);
        };
        if constexpr (projection<decltype(a.project)>) {
            using heads = typename std::remove_cvref_t<decltype(a.project)>::heads_type;
            auto const& p = a.project;
            auto const x = project<T, Arch>(executor, scratch, p.query, q, heads::query);
            auto const y = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.query)>,
                                             std::remove_cvref_t<decltype(p.key)>>)
                    if (heads::group == 1 && same_projection(p.query, p.key, q, k)) return x;
                return project<T, Arch>(executor, scratch, p.key, k, heads::key_value);
            }();
            auto const z = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.key)>,
                                             std::remove_cvref_t<decltype(p.value)>>)
                    if (same_projection(p.key, p.value, k, v)) return y;
                return project<T, Arch>(executor, scratch, p.value, v, heads::key_value);
            }();
            run(x, y, z);
        } else {
            run(view<q_element const, 4>(q), only_read(k), only_read(v));
        }
    }
}

template <class Arch, executor Executor, attention_spec A, viewable Source, viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Source const& x, Result&& result,
               Extra const&... extra) {
    attend_on<Arch>(executor, scratch, a, x, x, x, result, extra...);
}

template <class Arch, executor Executor, attention_spec A, class Q, int QueryRank, class M, int MemoryRank,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, queries_input<Q, QueryRank> const& x,
               memory_input<M, MemoryRank> const& m, Result&& result, Extra const&... extra) {
    attend_on<Arch>(executor, scratch, a, x.source, m.source, m.source, result, extra...);
}

/// attend: computes the attention of a specification in one fused loop.
///
///     attend(spec, query, key, value, result)         sources of their own
///     attend(spec, x, result)                         self-attention
///     attend(spec, queries(x), memory(m), result)     cross attention
///
/// Before the specification may stand threads(n) and a workspace; after the result lse(view), weights(view).
/// Views are (position, feature), (batch, position, feature) or (batch, head, position, feature).
/// Errors: shape_error or graph_error naming the argument, before anything is written.
template <executor Executor, attention_spec A, class... Arguments>
FOVEA_INLINE void attend(Executor const& executor, workspace& scratch, A const& a, Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) attend_on<arch::best>(executor, scratch, a, arguments...);
}
template <executor Executor, attention_spec A, class... Arguments>
FOVEA_INLINE void attend(Executor const& executor, A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(executor, scratch, a, std::forward<Arguments>(arguments)...);
}
template <attention_spec A, class... Arguments>
FOVEA_INLINE void attend(workspace& scratch, A const& a, Arguments&&... arguments) {
    attend(serial, scratch, a, std::forward<Arguments>(arguments)...);
}
template <attention_spec A, class... Arguments>
FOVEA_INLINE void attend(A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(serial, scratch, a, std::forward<Arguments>(arguments)...);
}

/// Arguments in another order, or without a specification: a sentence, and no call.
template <class... Arguments>
    requires detail::misordered_call<Arguments...>
void attend(Arguments&&...) {
    detail::refuse_order<Arguments...>();
}

/// What has been reported once is not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}
template <class Before, class... Arguments>
    requires(executor<Before> || std::same_as<Before, workspace>)
void attend(Before const&, ill_formed, Arguments const&...) {}
template <executor Executor, class... Arguments>
void attend(Executor const&, workspace&, ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET
