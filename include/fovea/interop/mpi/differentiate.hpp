// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of attention over ranks: what is added up where rows are held, and arrays of the specification over all
// parts.
#pragma once

#include <fovea/driver/dense/backward/gradient_call.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/interop/mpi/global_sequence.hpp>
#include <fovea/interop/mpi/run.hpp>
#include <fovea/parts/chunked_gradient.hpp>
#include <fovea/parts/exact_sink.hpp>
#include <fovea/spec/call/saved_rows.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

/// m, l and D of rows, as they are sent: planes of one array, (batch, plane and head, position, 1).
template <class T>
struct statistics_of_rows {
    view<T, 4> all;

    view<T, 3> plane(index_t n) const {
        index_t const heads = all.extent(1) / 3;
        return {all.data + n * heads * all.stride(1),
                {all.extent(0), heads, all.extent(2)},
                {all.stride(0), all.stride(1), all.stride(2)}};
    }
    void copy(view<T const, 3> const& from, index_t n) const {
        auto const to = plane(n);
        for (index_t b = 0; b < to.extent(0); ++b)
            for (index_t h = 0; h < to.extent(1) && to.extent(2) > 0; ++h)
                std::copy_n(from.place(b, h, index_t{0}), to.extent(2), to.place(b, h, index_t{0}));
    }
    driver::saved_statistics<std::remove_const_t<T>> known() const { return {plane(0), plane(1), plane(2)}; }
};

/// D of all rows, from their result and its gradient.
template <class Arch, class T, class Executor, class D>
void find_deltas(Executor const& executor, workspace& scratch, view<T const, 4> const& result,
                 view<D const, 4> const& d_result, statistics_of_rows<T> const& of) {
    auto const& n = d_result.extents;
    index_t const width = round_up(n[3], kernel::pack<T, Arch>::lanes);
    executor.run(n[0] * n[1], [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        T* const row = memory.template take<T>(width);
        index_t const b = task / n[1], h = task % n[1];
        for (index_t q = 0; q < n[2]; ++q) {
            kernel::convert_row<T, Arch>(d_result.place(b, h, q, index_t{0}), n[3], row);
            of.plane(2)(b, h, q) = driver::delta_of_row<T, Arch>(result.place(b, h, q, index_t{0}), row, n[3]);
        }
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

    gradient_here(A const& a, global_sequence const& whole, workspace& memory, view<Q const, 4> const& q,
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
          keys_(cut(whole.keys, whole.longest)) {
        std::sort(queries_.begin(), queries_.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
        for (auto const& run : queries_) {
            auto const seen = std::find_if(whole.pieces.begin(), whole.pieces.end(),
                                           [&](auto const& piece) { return pass_.sees(run, piece); });
            first_keys_.push_back(seen == whole.pieces.end() ? -1 : seen->first);
        }
    }

    /// Keys and values that have come, for the queries of this rank; `alone`: it holds all, and what they get is added
    /// to them as well.
    template <class Executor, class Sums>
    void add_to_queries(Executor const& executor, workspace& scratch, chunk const& piece, bool alone,
                        view<K const, 4> const& keys, view<V const, 4> const& values, Sums& sums) const {
        rows_type const rows = statistics.all;
        typename pass_type::keys come{piece.first, keys, values};
        if (alone) {
            come.d_key = driver::rows_at(d_key, piece);
            come.d_value = driver::rows_at(d_value, piece);
        }
        for (std::size_t i = 0; i < queries_.size(); ++i) {
            auto const& run = queries_[i];
            if (pass_.sees(run, piece))
                add(executor, scratch,
                    queries_at(run.first, driver::rows_at(query, run), driver::rows_at(d_result, run),
                               driver::rows_at(rows, run), driver::rows_at(d_query, run)),
                    come, {.of_queries = true, .of_keys = alone, .of_rows = first_keys_[i] == piece.first}, sums);
        }
    }
    /// Queries that have come, for the keys and values of this rank.
    struct queries_come {
        view<Q const, 4> query;
        view<D const, 4> d_result;
        rows_type statistics{};
    };
    template <class Executor, class Sums>
    void add_to_keys(Executor const& executor, workspace& scratch, chunk const& piece, queries_come const& come,
                     Sums& sums) const {
        auto const queries = queries_at(piece.first, come.query, come.d_result, come.statistics, {});
        for (auto const& run : keys_)
            if (pass_.sees(piece, run))
                add(executor, scratch, queries,
                    {run.first, driver::rows_at(key, run), driver::rows_at(value, run), driver::rows_at(d_key, run),
                     driver::rows_at(d_value, run)},
                    {.of_queries = false, .of_keys = true, .of_rows = false}, sums);
    }

private:
    template <class Executor, class Sums>
    void add(Executor const& executor, workspace& scratch, typename pass_type::queries const& q,
             typename pass_type::keys const& k, driver::wanted_gradients wanted, Sums& sums) const {
        std::apply([&](auto const&... asked) { pass_.add(executor, scratch, q, k, wanted, sums.arrays, asked...); },
                   sums.asked);
    }
    static view<T, 4> zeros(workspace& memory, extents_t<4> const& extents) {
        auto const rows = driver::fresh_rows<T>(memory, extents);
        std::fill_n(rows.data, rows.size(), T{0});
        return rows;
    }
    typename pass_type::queries queries_at(index_t first, view<Q const, 4> const& rows, view<D const, 4> const& d_rows,
                                           rows_type const& of_rows, view<T, 4> const& to) const {
        driver::saved_statistics<T> known;
        if constexpr (knows_rows) known = statistics_of_rows<T const>{of_rows}.known();
        return {first, rows, d_rows, known, to};
    }

    pass_type pass_;
    runs queries_, keys_;              // the former in the order of their positions
    std::vector<index_t> first_keys_;  // of the first piece that each run of queries sees
};

/// The maxima and sums of the rows of a rank, as an output of which each run of its positions has a part.
template <class T>
struct kept_statistics {
    using output_tag = void;
    static constexpr std::string_view name = "save";
    view<T, 3> max, sum;  // (batch, head, query)

    struct bound {
        view<T, 3> target, sums;
        void row_state(row_place const& at, auto m, auto l) const {
            target(at.batch, at.head, at.query) = static_cast<T>(m);
            sums(at.batch, at.head, at.query) = static_cast<T>(l);
        }
    };
    template <class Shapes>
    bound bind(Shapes const&) const {
        return {max, sum};
    }
};

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
struct rank_sink {
    gradient_sink<T, Asked...> rows;
    driver::exact_sink<T, Asked...> arrays;
    std::tuple<Asked...> asked;

    /// Errors: shape_error for an array that the call does not read.
    template <attention_spec A, class Bound>
    rank_sink(A const& a, Bound const& bound, Asked const&... each)
        : rows(each...), arrays(a, each...), asked(each...) {
        fovea::detail::find_arrays(a, bound, rows);
    }
    template <class Bound>
    told_gradient told(Bound const& bound) {
        auto const& call = bound.call;
        return {static_cast<index_t>(sizeof *bound.d_result.data), arrays.elements(),
                rows.template asks_rows<operand_role::query>(call.query),
                rows.template asks_rows<operand_role::key>(call.key)
                    || rows.template asks_rows<operand_role::value>(call.value),
                bound.saved.has_value()};
    }
    /// Arrays become the sums over all ranks. Collective.
    void add_up(MPI_Comm comm) {
        arrays.for_each_sum([&](auto* numbers, index_t count) { add_over_ranks(comm, numbers, count); });
    }
    void write() {
        arrays.add_to(rows);
        rows.write();
    }
};

/// The same for one part, which are some rows of a source.
template <class Sums, class Rows>
struct chunk_sink {
    Sums& all;
    Rows const& source;
    position_run const& run;

    template <operand_role, class Real>
    void add_rows(Rows const&, Real const* amounts) {
        all.rows.add_rows(source, run.place, run.count, amounts);
    }
    template <class V, int Rank, class Real>
    void add(view<V const, Rank> const& array, extents_t<Rank> const& at, Real amount) {
        all.arrays.add(array, at, amount);
    }
    template <class V, int Rank, class Real>
    void add_all(view<V const, Rank> const& array, Real const* amounts) {
        all.arrays.add_all(array, amounts);
    }
    template <class V, int Rank>
    bool asks(view<V const, Rank> const& array) {
        return all.arrays.asks(array);
    }
    template <operand_role Of>
    bool asks_rows(Rows const&) {
        return all.rows.template asks_rows<Of>(source);
    }
};

/// The sequence of a call of gradient, with every check. Collective.
template <class T, class Ranks, attention_spec A, class Bound, class... Asked>
global_sequence gather_gradient(MPI_Comm comm, Ranks const& ranks, A const& a, Bound const& bound,
                                std::optional<rank_sink<T, Asked...>>& sums, Asked const&... asked) {
    told_gradient told;
    on_all_ranks(comm, [&] {
        sums.emplace(a, bound, asked...);
        told = sums->told(bound);
    });
    return gather<T>(comm, ranks, one_sequence{}, a, bound.call, told, [&](operand_shapes shapes) {
        shapes.query[2] = bound.call.query.extent(2);
        fovea::detail::require_gradient_of_result(bound.d_result.extents,
                                                  result_shape(a, shapes, bound.call.query.extents));
    });
}

/// The saved statistics of the rows of this rank.
template <class T>
struct forward_rows {
    view<T const, 4> result{};
    statistics_of_rows<T> statistics{};  // of softmax, but for D
};

/// That of an attention on heads, as all ranks have saved it, or from a call that is made here. Collective.
template <class T, class Arch, class Executor, attention_spec A, class Q, class K, class V>
forward_rows<T> forward_of(Executor const& executor, workspace& scratch, global_sequence const& whole, A const& a,
                           view<Q const, 4> const& query, view<K const, 4> const& key, view<V const, 4> const& value,
                           std::optional<row_state_views<T const>> const& saved, traffic* counts) {
    constexpr bool knows_rows = driver::recomputes_weights<T, A>();
    extents_t<4> const n{query.extent(0), query.extent(1), query.extent(2), value.extent(3)};
    forward_rows<T> of;
    view<T, 4> out{};
    bool const computes = !knows_rows || whole.gradient.saved == 0;
    on_all_ranks(whole.comm, [&] {
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
                                                 global_sequence const& whole, A const& a,
                                                 view<Q const, 4> const& query, view<K const, 4> const& key,
                                                 view<V const, 4> const& value, view<D const, 4> const& d_result,
                                                 forward_rows<T> const& forward, traffic* counts, Sums& sums) {
    using here_type = gradient_here<T, Arch, A, Q, K, V, D>;
    std::optional<here_type> here;
    std::vector<std::uint8_t> needs, query_needs;
    on_all_ranks(whole.comm, [&] {
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
            [&](auto const& looking, chunk const& piece, auto const& keys, auto const& values) {
                here->add_to_queries(looking, scratch, piece, alone, keys, values, sums);
            },
            nothing, key, value);
    if ((whole.gradient.asks_keys != 0 || arrays) && !alone) {
        travelling_plan const plan{whole.query_pieces, query_needs, std::min(whole.longest, whole.shapes.queries())};
        auto const travel = [&](auto const&... statistics) {
            compute_while_travelling(
                executor, scratch, whole.comm, plan, counts,
                [&](auto const& looking, chunk const& piece, auto const&... rows) {
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
