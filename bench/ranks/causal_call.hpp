// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The causal call that the programs of this folder measure: one head, positions dealt to the ranks in blocks.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/interop/mpi.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace causal_call {

using namespace fovea;

constexpr index_t width = 64, piece = mpi::ranks_t<mpi::contiguous_t, mpi::contiguous_t>::usual_piece;
constexpr auto spec = scaled_dot | causal_at_end | softmax | weighted_sum;

inline tensor<float, 2> rows(mpi::runs const& held, float seed) {
    tensor<float, 2> made({mpi::detail::positions_in(held), width});
    for (auto const& run : held)
        for (index_t n = 0; n < run.count; ++n)
            for (index_t c = 0; c < width; ++c)
                made(run.place + n, c) = std::sin(seed * static_cast<float>((run.first + n) * width + c));
    return made;
}

/// The share of one process.
struct operands {
    tensor<float, 2> q, k, v, out;
    operands(mpi::runs const& queries, mpi::runs const& keys)
        : q(rows(queries, 0.37f)), k(rows(keys, 0.11f)), v(rows(keys, 0.7f)), out(q.extents) {}
};

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The seconds of a call from when the first rank begins to when the last has ended, and those that the busiest rank
/// has a processor, which do not depend on what else runs on the machine: each of the fastest of several calls.
struct taken {
    double seconds = 1e30, busy = 1e30;
};

/// f(traffic) is a call of all ranks of a communicator.
template <class F>
taken time_of(MPI_Comm comm, F const& f) {
    constexpr int least = 5;
    constexpr double enough = 2;
    taken best;
    double const first = MPI_Wtime();
    for (int goes_on = 1, repetition = 1; goes_on != 0; ++repetition) {
        mpi::traffic counts;
        MPI_Barrier(comm);
        double const begun = MPI_Wtime(), processor = processor_seconds();
        f(counts);
        best.busy = std::min(best.busy, processor_seconds() - processor - counts.processor_seconds_waited);
        MPI_Barrier(comm);
        best.seconds = std::min(best.seconds, MPI_Wtime() - begun);
        goes_on = repetition < least || MPI_Wtime() - first < enough;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, comm);
    }
    MPI_Allreduce(MPI_IN_PLACE, &best, 2, MPI_DOUBLE, MPI_MAX, comm);
    return best;
}

}  // namespace causal_call
