// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of a layer over ranks: of its projections and of what follows the heads, around those of its attention.
#pragma once

#include <fovea/driver/layer_gradient.hpp>
#include <fovea/interop/mpi/differentiate.hpp>

namespace fovea::FOVEA_SET::mpi::detail {

/// Rows as they lie position by position: dense, heads side by side where the source has none.
template <class T>
view<T, 4> rows_by_position(workspace& scratch, extents_t<4> const& n, bool side_by_side) {
    if (!side_by_side || n[1] == 1) return driver::fresh_rows<T>(scratch, n);
    return split_heads(driver::fresh_rows<T>(scratch, {n[0], 1, n[2], n[1] * n[3]}), n[1], "result");
}
template <class T, class From, class Executor>
view<T, 4> copied_rows(Executor const& executor, workspace& scratch, view<From, 4> const& from, bool side_by_side) {
    auto const to = rows_by_position<T>(scratch, from.extents, side_by_side);
    driver::copy_rows<T>(executor, from, to);
    return to;
}

/// A call of gradient with projections or finishes: run by run of the positions of this rank back through the finishes,
/// the attention between them, and run by run back through the projections. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Bound, class Sums>
void differentiate_layer_over_ranks(Executor const& executor, workspace& scratch, whole_sequence const& whole,
                                    A const& a, Bound const& bound, traffic* counts, Sums& sums) {
    auto const& call = bound.call;
    auto const on_heads = driver::attention_on_heads(a);
    using on_heads_type = std::remove_const_t<decltype(on_heads)>;
    constexpr bool reads_result = driver::gradients_read_result<std::remove_cvref_t<decltype(a.aggregate)>>();
    index_t const heads = whole.shapes.heads(), features = whole.shapes.features();
    auto const queries = cut(whole.queries, whole.longest), keys = cut(whole.keys, whole.longest);
    auto const from = [&](index_t first_query, index_t first_key) {
        return of_part(a, {first_query, first_key, whole.shapes.queries(), whole.shapes.keys()});
    };
    with_projected_on_all<T, Arch>(
        executor, scratch, whole, one_sequence{}, a, call,
        [&](auto const&, auto const& q, auto const& k, auto const& v) {
            forward_rows<T> forward;
            if constexpr (reads_result || driver::recomputes_weights<T, on_heads_type>())
                forward = forward_of<T, Arch>(executor, scratch, whole, on_heads, q, k, v, bound.saved, counts);
            view<T, 4> d_heads{};
            on_all(whole.comm, [&] {
                d_heads = driver::fresh_rows<T>(scratch, {q.extent(0), heads, q.extent(2), features});
                for (auto const& run : queries) {
                    auto const source = driver::rows_at(call.query, run);
                    sums_of_run<Sums, std::remove_cvref_t<decltype(call.query)>> of_run{sums, call.query, run};
                    view<T, 4> x{nullptr, {q.extent(0), heads, run.count, features}};
                    if constexpr (reads_result)
                        x = copied_rows<T>(executor, scratch, driver::rows_at(forward.result, run), true);
                    auto const part = from(run.first, 0);
                    auto d = driver::finishes_gradient<T, Arch>(
                        executor, scratch, part.aggregate, x,
                        copied_rows<T>(executor, scratch, driver::rows_at(bound.d_result, run), true), source, of_run);
                    if (d.extent(1) != heads) d = split_heads(d, heads, "result");
                    driver::copy_rows<T>(executor, d, driver::rows_at(d_heads, run));
                    sums.arrays.end_part();
                }
            });
            auto const d = differentiate_heads<T, Arch>(executor, scratch, whole, on_heads, q, k, v,
                                                        view<T const, 4>(d_heads), forward, counts, sums);
            on_all(whole.comm, [&] {
                auto const back = [&](auto const& map, auto const& all, view<T, 4> const& of_heads, auto const& run) {
                    sums_of_run<Sums, std::remove_cvref_t<decltype(all)>> of_run{sums, all, run};
                    // Whose rows they are, of_run knows.
                    driver::add_project_gradient<operand_role::query, T, Arch>(
                        executor, scratch, map, driver::rows_at(all, run),
                        copied_rows<T>(executor, scratch, driver::rows_at(of_heads, run), all.extent(1) == 1), of_run);
                    sums.arrays.end_part();
                };
                if constexpr (projection<decltype(a.project)>) {
                    for (auto const& run : queries) back(from(run.first, 0).project.query, call.query, d.query, run);
                    for (auto const& run : keys) {
                        auto const part = from(0, run.first);
                        back(part.project.key, call.key, d.key, run);
                        back(part.project.value, call.value, d.value, run);
                    }
                } else {
                    sums.rows.add_lasting_rows(call.query, d.query.data);
                    sums.rows.add_lasting_rows(call.key, d.key.data);
                    sums.rows.add_lasting_rows(call.value, d.value.data);
                }
            });
        });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
