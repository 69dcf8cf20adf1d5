// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points: check the shapes, lower the specification, run the traversal that its mask calls for.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/driver/dense.hpp>
#include <fovea/driver/enumerated.hpp>
#include <fovea/driver/finish.hpp>
#include <fovea/driver/project.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/inputs.hpp>

namespace fovea {

namespace driver {

template <class Operands, class T, int Rank>
void request(Operands& operands, lse_output<T, Rank> const& asked, operand_shapes const& shapes) {
    operands.lse = lse_rows(asked.target, shapes);
}
template <class Operands, class T, int Rank>
void request(Operands& operands, weights_output<T, Rank> const& asked, operand_shapes const& shapes) {
    operands.weights = weights_pairs(asked.target, shapes);
}

/// Whether every finish of an aggregate works in place.
template <class Aggregate>
constexpr bool finishes_in_place() {
    if constexpr (is_finished<Aggregate>)
        return works_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().second)>> &&
               finishes_in_place<std::remove_cvref_t<decltype(std::declval<Aggregate>().first)>>();
    else return true;
}

/// The attention itself, on heads: everything between the projections and the finishes.
template <class T, class Arch, class A, class Q, class K, class V, class Out, class Executor, class... Extra>
void attend_heads(Executor const& executor, workspace& scratch, A const& a, operand_shapes const& shapes, view<Q const, 4> q,
                  view<K const, 4> k, view<V const, 4> v, view<Out, 4> out, Extra const&... extra) {
    operands<Q, K, V, Out> all{q, k, v, out};
    (request(all, extra, shapes), ...);
    recipe const parts{plan::lower(a.score.expression()), a.mask.predicate(), a.normalize, core_of(a.aggregate)};
    if constexpr (enumerating_mask<decltype(a.mask)>)
        enumerated_loop<T, Arch, decltype(parts), decltype(all)>(parts, all, a.mask.neighbor_list()).run(executor, scratch);
    else dense_loop<T, Arch, decltype(parts), decltype(all)>(parts, all).run(executor, scratch);
}

/// Runs the heads into `out` (as heads, position by position) and then the finishes.
template <class T, class Arch, class A, class Q, class K, class V, class Source, class Out, class Executor, class... Extra>
void attend_and_finish(Executor const& executor, workspace& scratch, A const& a, operand_shapes const& shapes,
                       view<Q const, 4> q, view<K const, 4> k, view<V const, 4> v, view<Source, 4> const& source,
                       view<Out, 4> const& out, Extra const&... extra) {
    if constexpr (!projection<decltype(a.project)> && !is_finished<decltype(a.aggregate)>) {
        attend_heads<T, Arch>(executor, scratch, a, shapes, q, k, v, out, extra...);
    } else {
        extents_t<4> const heads{shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()};
        index_t const row = heads[1] * heads[3];
        constexpr bool direct = std::is_same_v<Out, T> && finishes_in_place<std::remove_cvref_t<decltype(a.aggregate)>>();
        bool const joined_result = out.extent(1) == 1;
        view<T, 4> x;
        bool in_result = false;
        if constexpr (direct) {
            in_result = true;
            x = joined_result ? view<T, 4>{out.data, heads, {out.stride(0), heads[3], out.stride(2), 1}} : out;
        }
        if (!in_result)
            x = {scratch.shared().template take<T>(heads[0] * heads[2] * row), heads, {heads[2] * row, heads[3], row, 1}};
        attend_heads<T, Arch>(executor, scratch, a, shapes, q, k, v, x, extra...);
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
template <class Arch, executor Executor, attention_spec A, viewable Query, viewable Key, viewable Value, viewable Result,
          extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Query const& query, Key const& key,
               Value const& value, Result&& result, Extra const&... extra) {
    auto const q = as_heads(as_view(query));
    auto const k = as_heads(as_view(key));
    auto const v = as_heads(as_view(value));
    auto const out = as_heads(as_view(result));
    auto const shapes = check_call(a, q, k, v, out, extra...);
    if constexpr (detail::is_complete(static_cast<A const*>(nullptr))) {
        using namespace driver;
        using q_element = std::remove_const_t<std::remove_pointer_t<decltype(q.data)>>;
        using k_element = std::remove_const_t<std::remove_pointer_t<decltype(k.data)>>;
        using v_element = std::remove_const_t<std::remove_pointer_t<decltype(v.data)>>;
        using out_element = std::remove_pointer_t<decltype(out.data)>;
        using T = compute_type<q_element, k_element, v_element, out_element>;
        scratch.prepare(executor.workers());
        auto const run = [&](auto const& x, auto const& y, auto const& z) {
            attend_and_finish<T, Arch>(executor, scratch, a, shapes.operands, x, y, z, q, out, extra...);
        };
        if constexpr (projection<decltype(a.project)>) {
            using heads = typename std::remove_cvref_t<decltype(a.project)>::heads_type;
            auto const& p = a.project;
            auto const x = project<T, Arch>(executor, scratch, p.query, q, heads::query);
            auto const y = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.query)>, std::remove_cvref_t<decltype(p.key)>>)
                    if (heads::group == 1 && same_projection(p.query, p.key, q, k)) return x;
                return project<T, Arch>(executor, scratch, p.key, k, heads::key_value);
            }();
            auto const z = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.key)>, std::remove_cvref_t<decltype(p.value)>>)
                    if (same_projection(p.key, p.value, k, v)) return y;
                return project<T, Arch>(executor, scratch, p.value, v, heads::key_value);
            }();
            run(x, y, z);
        } else {
            run(view<q_element const, 4>(q), view<k_element const, 4>(k), view<v_element const, 4>(v));
        }
    }
}

template <class Arch, executor Executor, attention_spec A, viewable Source, viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Source const& x, Result&& result,
               Extra const&... extra) {
    attend_on<Arch>(executor, scratch, a, x, x, x, result, extra...);
}

template <class Arch, executor Executor, attention_spec A, class Q, int QueryRank, class M, int MemoryRank, viewable Result,
          extra_output... Extra>
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
template <attention_spec A, class... Arguments>
void attend(A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend_on<arch::best>(serial, scratch, a, arguments...);
}
template <executor Executor, attention_spec A, class... Arguments>
void attend(Executor const& executor, A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend_on<arch::best>(executor, scratch, a, arguments...);
}
template <attention_spec A, class... Arguments>
void attend(workspace& scratch, A const& a, Arguments&&... arguments) {
    attend_on<arch::best>(serial, scratch, a, arguments...);
}
template <executor Executor, attention_spec A, class... Arguments>
void attend(Executor const& executor, workspace& scratch, A const& a, Arguments&&... arguments) {
    attend_on<arch::best>(executor, scratch, a, arguments...);
}

/// What has been reported once is not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}

}  // namespace fovea
