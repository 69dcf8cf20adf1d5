// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient over ranks. Each gradient is added up where its rows are, in the order of the pieces that come by:
// keys and values for those of queries, then queries for those of keys and values.
#pragma once

#include <fovea/driver/dense/piecewise_gradient.hpp>
#include <fovea/interop/mpi/run.hpp>
#include <fovea/interop/mpi/statistics.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// What can be wrong with what a call of gradient reads on one rank, whatever the others have.
template <attention_spec A, class Call, class D>
void check_gradient_call(attention_over<A> const& of, Call& call, view<D, 4> const& d_result) {
    check_read(static_cast<A const&>(of), call);
    fovea::detail::require_sound(fovea::detail::region_of(d_result, fovea::detail::gradient_of_result));
    call.shapes = {call.query.extents, call.key.extents, call.value.extents};
}

/// The sentences for gradients that are not computed over ranks.
template <class T, class A>
constexpr bool has_gradient_over_ranks() {
    constexpr bool on_heads = writes_heads<A>;
    static_assert(on_heads,
                  "fovea: over ranks gradients are those of an attention on heads: leave projections, and what follows "
                  "the aggregator, out of the specification, and differentiate them on each rank");
    constexpr bool by_pieces = !on_heads || driver::has_piecewise_gradient<T, A>();
    static_assert(
        by_pieces,
        "fovea: over ranks there are gradients of softmax and of weights that go by key, such as unnormalized: "
        "other normalizers need whole rows of scores");
    return on_heads && by_pieces;
}

/// The sums that ranks have become the sum over all of them. Collective.
inline void add_over_ranks(MPI_Comm comm, void* numbers, index_t count, index_t size, MPI_Datatype type) {
    constexpr index_t most = index_t{1} << 28;
    for (index_t first = 0; first < count; first += most)
        MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(numbers) + first * size,
                      static_cast<int>(std::min(most, count - first)), type, MPI_SUM, comm);
}
inline void add_over_ranks(MPI_Comm comm, std::int64_t* numbers, index_t count) {
    add_over_ranks(comm, numbers, count, 8, MPI_INT64_T);
}
inline void add_over_ranks(MPI_Comm comm, float* numbers, index_t count) {
    add_over_ranks(comm, numbers, count, 4, MPI_FLOAT);
}
inline void add_over_ranks(MPI_Comm comm, double* numbers, index_t count) {
    add_over_ranks(comm, numbers, count, 8, MPI_DOUBLE);
}

/// The sums of what is asked for.
template <class T, class... Asked>
struct asked_sums {
    named_sums<T, Asked...> sums;
    driver::table_totals<T, Asked...> totals;

    /// Errors: shape_error for an array that the call does not read.
    template <attention_spec A, class Bound>
    asked_sums(A const& a, Bound const& bound, Asked const&... asked) : sums(asked...), totals(a, asked...) {
        fovea::detail::find_arrays(a, bound, sums);
    }
    template <class Bound>
    told_gradient told(Bound const& bound) {
        auto const& call = bound.call;
        return {static_cast<index_t>(sizeof *bound.d_result.data), totals.elements(),
                sums.template asks<true>(call.query),
                sums.template asks<true>(call.key) || sums.template asks<true>(call.value), bound.saved != nullptr};
    }
};

/// The sequence of a call of gradient, with every check. Collective.
template <class T, class Ranks, attention_spec A, class Bound, class... Asked>
whole_sequence gather_gradient(MPI_Comm comm, Ranks const& ranks, A const& a, Bound const& bound,
                               std::optional<asked_sums<T, Asked...>>& sums, Asked const&... asked) {
    told_gradient told;
    on_all(comm, [&] {
        sums.emplace(a, bound, asked...);
        told = sums->told(bound);
    });
    return gather<T>(comm, ranks, a, bound.call, told, [&](operand_shapes shapes) {
        shapes.query[2] = bound.call.query.extent(2);
        fovea::detail::require_gradient_of_result(bound.d_result.extents,
                                                  result_shape(a, shapes, bound.call.query.extents));
    });
}

/// The operands of this rank, and the gradients that are added up here.
template <class T, class Arch, attention_spec A, class Q, class K, class V, class D>
class gradient_here {
    using pass_type = driver::piecewise_gradient<T, Arch, A, Q, K, V, D>;
    using rows_type = view<T const, 4>;

public:
    static constexpr bool knows_rows = driver::recomputes_weights<T, A>();
    view<Q const, 4> query;
    view<K const, 4> key;
    view<V const, 4> value;
    view<D const, 4> d_result;
    view<T, 4> d_query, d_key, d_value;
    statistics_of_rows<T> statistics{};

    gradient_here(A const& a, whole_sequence const& whole, workspace& memory, view<Q const, 4> const& q,
                  view<K const, 4> const& k, view<V const, 4> const& v, view<D const, 4> const& d)
        : query(q),
          key(k),
          value(v),
          d_result(d),
          d_query(zeros(memory, q.extents)),
          d_key(zeros(memory, k.extents)),
          d_value(zeros(memory, v.extents)),
          pass_(a, whole.shapes),
          queries_(cut(whole.queries, whole.longest)),
          keys_(cut(whole.keys, whole.longest)) {}

    /// Keys and values that have come, for the queries of this rank.
    template <class Executor, class... Sums>
    void add_to_queries(Executor const& executor, workspace& scratch, held_piece const& piece,
                        view<K const, 4> const& keys, view<V const, 4> const& values, Sums&... sums) const {
        rows_type const rows = statistics.all;
        for (auto const& run : queries_)
            if (pass_.sees(run, piece))
                pass_.add(executor, scratch,
                          queries_at(run.first, driver::rows_at(query, run), driver::rows_at(d_result, run),
                                     driver::rows_at(rows, run), driver::rows_at(d_query, run)),
                          {piece.first, keys, values}, {.of_queries = true, .of_keys = false}, sums...);
    }
    /// Queries that have come, for the keys and values of this rank.
    struct queries_come {
        view<Q const, 4> query;
        view<D const, 4> d_result;
        rows_type statistics{};
    };
    template <class Executor, class... Sums>
    void add_to_keys(Executor const& executor, workspace& scratch, held_piece const& piece, queries_come const& come,
                     Sums&... sums) const {
        auto const queries = queries_at(piece.first, come.query, come.d_result, come.statistics, {});
        for (auto const& run : keys_)
            if (pass_.sees(piece, run))
                pass_.add(executor, scratch, queries,
                          {run.first, driver::rows_at(key, run), driver::rows_at(value, run),
                           driver::rows_at(d_key, run), driver::rows_at(d_value, run)},
                          {.of_queries = false, .of_keys = true}, sums...);
    }

private:
    static view<T, 4> zeros(workspace& memory, extents_t<4> const& extents) {
        auto const rows = driver::fresh_rows<T>(memory, extents);
        std::fill_n(rows.data, rows.size(), T{0});
        return rows;
    }
    typename pass_type::queries queries_at(index_t first, view<Q const, 4> const& rows, view<D const, 4> const& d_rows,
                                           rows_type const& of_rows, view<T, 4> const& to) const {
        driver::known_rows<T> known;
        if constexpr (knows_rows) known = statistics_of_rows<T const>{of_rows}.known();
        return {first, rows, d_rows, known, to};
    }

    pass_type pass_;
    runs queries_, keys_;
};

/// The attention on heads: its gradients where its rows are, and those of tables in `sums`. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Here, class Sums>
void differentiate_over_ranks(Executor const& executor, workspace& scratch, whole_sequence const& whole, A const& a,
                              Here& here, saved_rows<T> const* saved, traffic* counts, Sums const& sums) {
    std::vector<std::uint8_t> needs, query_needs;
    on_all(whole.comm, [&] {
        needs = needs_of<T>(a, whole);
        query_needs = query_needs_of<T>(a, whole);
    });
    if constexpr (Here::knows_rows)
        here.statistics = statistics_here<Arch>(
            whole.comm, executor, scratch, here.d_result, whole.gradient.saved != 0 ? saved : nullptr,
            [&](kept_statistics<T> const& kept, view<T, 4> const& out) {
                attend_heads_over_ranks<T, Arch>(executor, scratch, whole, a, here.query, here.key, here.value, out,
                                                 std::tuple(kept), counts);
            });
    auto const nothing = [](auto const&) {};
    bool const tables = whole.gradient.table_elements > 0;
    if (whole.gradient.asks_queries != 0 || tables)
        compute_while_travelling(
            executor, scratch, whole.comm, {whole.pieces, needs, std::min(whole.longest, whole.shapes.keys())}, counts,
            [&](auto const& looking, held_piece const& piece, auto const& keys, auto const& values) {
                sums([&](auto&... each) { here.add_to_queries(looking, scratch, piece, keys, values, each...); });
            },
            nothing, here.key, here.value);
    if (whole.gradient.asks_keys != 0 || tables) {
        travelling_plan const plan{whole.query_pieces, query_needs, std::min(whole.longest, whole.shapes.queries())};
        auto const travel = [&](auto const&... statistics) {
            compute_while_travelling(
                executor, scratch, whole.comm, plan, counts,
                [&](auto const& looking, held_piece const& piece, auto const&... rows) {
                    sums([&](auto&... each) { here.add_to_keys(looking, scratch, piece, {rows...}, each...); });
                },
                nothing, here.query, here.d_result, statistics...);
        };
        if constexpr (Here::knows_rows) travel(view<T const, 4>(here.statistics.all));
        else travel();
    }
}

/// A call of gradient whose arrays are right on each rank. Collective.
template <class Arch, class Executor, class Ranks, attention_spec A, class Bound, class... Asked>
void run_gradient_over_ranks(Executor const& executor, workspace& scratch, MPI_Comm comm, Ranks const& ranks,
                             A const& a, Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    auto const& [query, key, value, result, outputs, shapes] = bound.call;
    using here_type = gradient_here<T, Arch, A, element_of_rows<std::remove_cvref_t<decltype(query)>>,
                                    element_of_rows<std::remove_cvref_t<decltype(key)>>,
                                    element_of_rows<std::remove_cvref_t<decltype(value)>>,
                                    element_of_rows<std::remove_cvref_t<decltype(bound.d_result)>>>;
    std::optional<asked_sums<T, Asked...>> all;
    std::optional<here_type> here;
    auto const whole = gather_gradient<T>(comm, ranks, a, bound, all, asked...);
    on_all(comm, [&] { here.emplace(a, whole, scratch, query, key, value, bound.d_result); });
    differentiate_over_ranks<T, Arch>(executor, scratch, whole, a, *here, bound.saved, ranks.counts,
                                      [&](auto const& add) { add(all->totals, asked...); });
    all->totals.for_each_sum([&](auto* numbers, index_t count) { add_over_ranks(comm, numbers, count); });
    on_all(comm, [&] {
        all->totals.add_to(all->sums);
        all->sums.add_lasting_rows(query, here->d_query.data);
        all->sums.add_lasting_rows(key, here->d_key.data);
        all->sums.add_lasting_rows(value, here->d_value.data);
        all->sums.write();
    });
}

}  // namespace fovea::FOVEA_SET::mpi::detail
