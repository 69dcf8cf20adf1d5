// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call of gradient over ranks is asked for, while it is summed: rows where they are held, and arrays of the
// specification over parts, of which all ranks have the sum at the end.
#pragma once

#include <fovea/interop/mpi/exchange.hpp>
#include <fovea/parts/array_totals.hpp>

#include <algorithm>
#include <tuple>

namespace fovea::FOVEA_SET::mpi::detail {

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
    named_sums<T, Asked...> rows;
    driver::array_totals<T, Asked...> arrays;
    std::tuple<Asked...> asked;

    /// Errors: shape_error for an array that the call does not read.
    template <attention_spec A, class Bound>
    asked_sums(A const& a, Bound const& bound, Asked const&... each)
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
struct sums_of_run {
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

}  // namespace fovea::FOVEA_SET::mpi::detail
