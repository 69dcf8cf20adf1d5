// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A causal call over processes of MPI beside the same call of one process alone, and beside one by each process at the
// same time, which says what the machine gives processes that do not talk; and what was sent.
#include "causal_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

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

/// Seconds until all ranks have run f.
template <class F>
double seconds_of(F const& f) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const begun = MPI_Wtime();
    f();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begun;
}

/// Seconds of f on the first rank, while the others sleep.
template <class F>
double seconds_alone(int rank, F const& f) {
    double seconds = 0;
    MPI_Request all_here = MPI_REQUEST_NULL;
    if (rank == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        double const begun = MPI_Wtime();
        f();
        seconds = MPI_Wtime() - begun;
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
    for (int done = 0; done == 0; MPI_Test(&all_here, &done, MPI_STATUS_IGNORE))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return seconds;
}

double median(std::vector<double> all) {
    auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int const rank = mpi::detail::rank_in(MPI_COMM_WORLD), size = mpi::detail::size_of(MPI_COMM_WORLD);
    index_t const positions = argc > 1 ? std::atol(argv[1]) : 16384;
    auto const layout = mpi::striped(piece);
    auto const held = layout.held(positions, rank, size);
    mpi::runs const all{{0, positions, 0}};
    operands own(held, held), whole(all, all);
    workspace scratch;
    mpi::traffic counts;
    auto const over_ranks = [&] {
        counts = {};
        attend(scratch, mpi::ranks(MPI_COMM_WORLD, layout).counted_in(counts), spec, own.q, own.k, own.v, own.out);
    };
    auto const by_itself = [&] { attend(scratch, spec, whole.q, whole.k, whole.v, whole.out); };
    over_ranks();
    by_itself();
    std::vector<double> together, apart, alone, faster, kept, waited;
    constexpr int rounds = 9;
    for (int round = 0; round < rounds; ++round) {
        together.push_back(seconds_of(over_ranks));
        waited.push_back(counts.seconds_waited);
        apart.push_back(seconds_of(by_itself));
        alone.push_back(seconds_alone(rank, by_itself));
        faster.push_back(alone.back() / together.back());
        kept.push_back(apart.back() / size / together.back());
    }
    double const mine = median(waited);
    double most_waited = 0;
    index_t sent = 0;
    MPI_Reduce(&mine, &most_waited, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&counts.bytes_sent, &sent, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf(
            "%ld positions on %d ranks, medians of %d rounds: %.1f ms; one process alone %.1f ms: %.2f times as "
            "fast\n",
            static_cast<long>(positions), size, rounds, median(together) * 1e3, median(alone) * 1e3, median(faster));
        std::printf(
            "    %d whole calls at a time, which do not talk: %.1f ms; ranks are %.2f times as fast, of %d; "
            "longest wait %.2f ms\n",
            size, median(apart) * 1e3, median(kept) * size, size, most_waited * 1e3);
        std::printf("    sent %ld bytes, by the formula %ld\n", static_cast<long>(sent),
                    static_cast<long>(predicted_bytes(positions, size)));
    }
    int const wrong = rank == 0 && sent != predicted_bytes(positions, size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
