// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients that are added up on one rank of a call over ranks.
#pragma once

#include <fovea/interop/mpi/statistics.hpp>
#include <fovea/interop/mpi/whole.hpp>
#include <fovea/parts/piecewise_gradient.hpp>

#include <algorithm>
#include <tuple>
#include <vector>

namespace fovea::FOVEA_SET::mpi::detail {

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
    void add_to_queries(Executor const& executor, workspace& scratch, held_piece const& piece, bool alone,
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
    void add_to_keys(Executor const& executor, workspace& scratch, held_piece const& piece, queries_come const& come,
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
             typename pass_type::keys const& k, driver::made_gradients makes, Sums& sums) const {
        std::apply([&](auto const&... asked) { pass_.add(executor, scratch, q, k, makes, sums.arrays, asked...); },
                   sums.asked);
    }
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
    runs queries_, keys_;              // the former in the order of their positions
    std::vector<index_t> first_keys_;  // of the first piece that each run of queries sees
};

}  // namespace fovea::FOVEA_SET::mpi::detail
