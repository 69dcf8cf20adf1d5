// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of an attention on heads over ranks. Each is added up where its rows are, in the order of the pieces
// that come by: keys and values for those of queries, then queries for those of keys and values.
#pragma once

#include <fovea/interop/mpi/gradient_here.hpp>
#include <fovea/interop/mpi/gradient_sums.hpp>
#include <fovea/interop/mpi/run.hpp>
#include <fovea/interop/mpi/saved.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// The sequence of a call of gradient, with every check. Collective.
template <class T, class Ranks, attention_spec A, class Bound, class... Asked>
whole_sequence gather_gradient(MPI_Comm comm, Ranks const& ranks, A const& a, Bound const& bound,
                               std::optional<asked_sums<T, Asked...>>& sums, Asked const&... asked) {
    told_gradient told;
    on_all(comm, [&] {
        sums.emplace(a, bound, asked...);
        told = sums->told(bound);
    });
    return gather<T>(comm, ranks, one_sequence{}, a, bound.call, told, [&](operand_shapes shapes) {
        shapes.query[2] = bound.call.query.extent(2);
        fovea::detail::require_gradient_of_result(bound.d_result.extents,
                                                  result_shape(a, shapes, bound.call.query.extents));
    });
}

/// What a forward call leaves of the rows of this rank.
template <class T>
struct forward_rows {
    view<T const, 4> result{};
    statistics_of_rows<T> statistics{};  // of softmax, but for D
};

/// That of an attention on heads, as all ranks have saved it, or from a call that is made here. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V>
forward_rows<T> forward_of(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                           view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                           std::optional<row_state_views<T const>> const& saved, traffic* counts) {
    constexpr bool knows_rows = driver::recomputes_weights<T, A>();
    extents_t<4> const n{query.extent(0), query.extent(1), query.extent(2), value.extent(3)};
    forward_rows<T> of;
    view<T, 4> out{};
    bool const computes = !knows_rows || whole.gradient.saved == 0;
    on_all(whole.comm, [&] {
        if constexpr (knows_rows) of.statistics.all = driver::fresh_rows<T>(scratch, {n[0], 3 * n[1], n[2], 1});
        if (computes) out = driver::fresh_rows<T>(scratch, n);
    });
    auto const attend = [&](auto const&... kept) {
        attend_heads_over_ranks<T, Arch>(executor, scratch, whole, a, query, key, value, out, std::tuple(kept...),
                                         counts);
    };
    of.result = out;
    if constexpr (!knows_rows) {
        attend();
    } else if (computes) {
        attend(kept_statistics<T>{of.statistics.plane(0), of.statistics.plane(1)});
    } else {
        of.statistics.copy(saved->max, 0);
        of.statistics.copy(saved->sum, 1);
        of.result = saved->result;
    }
    return of;
}

/// The gradients of an attention on heads where its rows are, and those of tables in `sums`. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V, class D, class Sums>
driver::operand_gradients<T> differentiate_heads(Executor const& executor, workspace& scratch,
                                                 whole_sequence const& whole, A const& a, view<Q const, 4> const& query,
                                                 view<K const, 4> const& key, view<V const, 4> const& value,
                                                 view<D const, 4> const& d_result, forward_rows<T> const& forward,
                                                 traffic* counts, Sums& sums) {
    using here_type = gradient_here<T, Arch, A, Q, K, V, D>;
    std::optional<here_type> here;
    std::vector<std::uint8_t> needs, query_needs;
    on_all(whole.comm, [&] {
        here.emplace(a, whole, scratch, query, key, value, d_result);
        needs = needs_of<T>(a, whole);
        query_needs = query_needs_of<T>(a, whole);
        here->statistics = forward.statistics;
        if constexpr (here_type::knows_rows)
            find_deltas<Arch>(executor, scratch, forward.result, d_result, here->statistics);
    });
    auto const nothing = [](auto const&) {};
    bool const arrays = whole.gradient.table_elements > 0;
    // Where one rank holds all, pieces of keys in order, with the queries in order, are the order of both sums.
    bool const alone = size_of(whole.comm) == 1 && !arrays;
    if (whole.gradient.asks_queries != 0 || arrays || alone)
        compute_while_travelling(
            executor, scratch, whole.comm, {whole.pieces, needs, std::min(whole.longest, whole.shapes.keys())}, counts,
            [&](auto const& looking, held_piece const& piece, auto const& keys, auto const& values) {
                here->add_to_queries(looking, scratch, piece, alone, keys, values, sums);
            },
            nothing, key, value);
    if ((whole.gradient.asks_keys != 0 || arrays) && !alone) {
        travelling_plan const plan{whole.query_pieces, query_needs, std::min(whole.longest, whole.shapes.queries())};
        auto const travel = [&](auto const&... statistics) {
            compute_while_travelling(
                executor, scratch, whole.comm, plan, counts,
                [&](auto const& looking, held_piece const& piece, auto const&... rows) {
                    here->add_to_keys(looking, scratch, piece, {rows...}, sums);
                },
                nothing, query, d_result, statistics...);
        };
        if constexpr (here_type::knows_rows) travel(view<T const, 4>(here->statistics.all));
        else travel();
    }
    return {here->d_query, here->d_key, here->d_value};
}

}  // namespace fovea::FOVEA_SET::mpi::detail
