// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A causal call over processes of MPI beside one call of the first process alone: how long both take, how busy each
// process was, and what was sent.
#include "causal_call.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace causal_call;

namespace {

/// Bytes that all ranks send together: piece p is needed by those that hold a query at or after its first key.
index_t predicted_bytes(index_t positions, int ranks) {
    index_t bytes = 0;
    for (index_t first = 0; first < positions; first += piece) {
        index_t const holder = first / piece % ranks, last_piece = ceil_div(positions, piece) - 1;
        for (index_t r = 0; r < ranks; ++r) {
            index_t const last_of_r = last_piece - (last_piece - r + ranks) % ranks;
            if (r != holder && last_of_r * piece >= first)
                bytes += 2 * std::min(piece, positions - first) * width * index_t{sizeof(float)};
        }
    }
    return bytes;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int const rank = mpi::detail::rank_in(MPI_COMM_WORLD), size = mpi::detail::size_of(MPI_COMM_WORLD);
    index_t const positions = argc > 1 ? std::atol(argv[1]) : 16384;
    auto const layout = mpi::striped(piece);
    auto const held = layout.held(positions, rank, size);
    operands own(held, held);
    workspace scratch;
    mpi::traffic traffic;
    double best = 1e30, busy = 0;
    for (int repetition = 0; repetition < 5; ++repetition) {
        mpi::traffic counts;
        MPI_Barrier(MPI_COMM_WORLD);
        double const begun = MPI_Wtime(), processor = processor_seconds();
        attend(scratch, mpi::ranks(MPI_COMM_WORLD, layout).counted_in(counts), spec, own.q, own.k, own.v, own.out);
        double const used = processor_seconds() - processor;
        MPI_Barrier(MPI_COMM_WORLD);
        if (double const seconds = MPI_Wtime() - begun; seconds < best) {
            best = seconds;
            busy = used - counts.processor_seconds_waited;
            traffic = counts;
        }
    }
    double most_busy = 0, most_waited = 0;
    index_t sent = 0;
    MPI_Reduce(&busy, &most_busy, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&traffic.seconds_waited, &most_waited, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&traffic.bytes_sent, &sent, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        // The other processes have ended their work, and this one has a processor to itself.
        mpi::runs const all{{0, positions, 0}};
        operands whole(all, all);
        auto const [alone, alone_busy] =
            time_of(MPI_COMM_SELF, [&](mpi::traffic&) { attend(scratch, spec, whole.q, whole.k, whole.v, whole.out); });
        std::printf("%ld positions on %d ranks: %.1f ms, without ranks %.1f ms: %.2f times as fast\n",
                    static_cast<long>(positions), size, best * 1e3, alone * 1e3, alone / best);
        std::printf("    busiest rank %.1f ms of its processor, without ranks %.1f: %.2f; longest wait %.2f ms\n",
                    most_busy * 1e3, alone_busy * 1e3, alone_busy / most_busy, most_waited * 1e3);
        std::printf("    sent %ld bytes, by the formula %ld\n", static_cast<long>(sent),
                    static_cast<long>(predicted_bytes(positions, size)));
    }
    int const wrong = rank == 0 && sent != predicted_bytes(positions, size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
