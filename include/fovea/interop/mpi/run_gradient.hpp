// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient over ranks: its attention, and the projections and finishes of a layer around it.
#pragma once

#include <fovea/driver/layer_gradient.hpp>
#include <fovea/interop/mpi/differentiate.hpp>

#include <optional>

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
void differentiate_layer_over_ranks(Executor const& executor, workspace& scratch, global_sequence const& whole,
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
            on_all_ranks(whole.comm, [&] {
                d_heads = driver::fresh_rows<T>(scratch, {q.extent(0), heads, q.extent(2), features});
                for (auto const& run : queries) {
                    auto const source = driver::rows_at(call.query, run);
                    chunk_sink<Sums, std::remove_cvref_t<decltype(call.query)>> of_run{sums, call.query, run};
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
            on_all_ranks(whole.comm, [&] {
                auto const back = [&](auto const& map, auto const& all, view<T, 4> const& of_heads, auto const& run) {
                    chunk_sink<Sums, std::remove_cvref_t<decltype(all)>> of_run{sums, all, run};
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

/// The checks of what a call of gradient reads on one rank, whatever the others have.
template <attention_spec A, class Call, class D, class States>
void check_gradient_call(attention_over<A> const& of, bound_gradient<Call, D, States>& bound) {
    auto& call = bound.call;
    check_read(static_cast<A const&>(of), call);
    fovea::detail::require_sound(fovea::detail::region_of(bound.d_result, fovea::detail::gradient_of_result));
    call.shapes = projected_shapes(of, call.query.extents, call.key.extents, call.value.extents);
}

/// The sentences for gradients that are not computed over ranks.
template <class A, class Call>
constexpr bool has_gradient_over_ranks() {
    using on_heads = decltype(driver::attention_on_heads(std::declval<A const&>()));
    constexpr bool dense = plan::is_dense<A>;
    constexpr bool views = requires(Call const& call) {
        call.key.data;
        call.value.data;
    };
    constexpr bool by_pieces = !dense || driver::has_piecewise_gradient<typename Call::number, on_heads>();
    static_assert(dense,
                  "fovea: over ranks there are gradients of keys that travel piece by piece: not those of a mask that "
                  "lists keys, or of a running state");
    static_assert(views,
                  "fovea: over ranks there are gradients of keys and values that are views: not in pages, or scaled by "
                  "blocks");
    static_assert(by_pieces,
                  "fovea: over ranks there are gradients of softmax, with a sink or without, and of weights that go by "
                  "key, such as unnormalized: other normalizers need whole rows of scores");
    return dense && views && by_pieces && merges_values<A>();
}

/// A call of gradient without projections and finishes, whose arrays are right on each rank. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Bound, class Sums>
void differentiate_over_ranks(Executor const& executor, workspace& scratch, global_sequence const& whole, A const& a,
                              Bound const& bound, traffic* counts, Sums& sums) {
    auto const& call = bound.call;
    forward_rows<T> forward;
    if constexpr (driver::recomputes_weights<T, A>())
        forward =
            forward_of<T, Arch>(executor, scratch, whole, a, call.query, call.key, call.value, bound.saved, counts);
    auto const d = differentiate_heads<T, Arch>(executor, scratch, whole, a, call.query, call.key, call.value,
                                                bound.d_result, forward, counts, sums);
    sums.rows.add_lasting_rows(call.query, d.query.data);
    sums.rows.add_lasting_rows(call.key, d.key.data);
    sums.rows.add_lasting_rows(call.value, d.value.data);
}

/// A call of gradient whose arrays are right on each rank. Collective.
template <class Arch, class Executor, class Ranks, attention_spec A, class Bound, class... Asked>
void run_gradient_over_ranks(Executor const& executor, workspace& scratch, MPI_Comm comm, Ranks const& ranks,
                             A const& a, Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    std::optional<rank_sink<T, Asked...>> sums;
    auto const whole = gather_gradient<T>(comm, ranks, a, bound, sums, asked...);
    if constexpr (works_on_heads<A>)
        differentiate_over_ranks<T, Arch>(executor, scratch, whole, a, bound, ranks.counts, *sums);
    else differentiate_layer_over_ranks<T, Arch>(executor, scratch, whole, a, bound, ranks.counts, *sums);
    sums->add_up(comm);
    on_all_ranks(comm, [&] { sums->write(); });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
