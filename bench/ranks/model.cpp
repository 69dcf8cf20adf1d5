// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long calls over ranks take, by the formulas of docs/inside/many_ranks.md: for 2 to 1024 ranks and 10^5 to 10^8
// positions, from the speed of a core, the bandwidth and the latency that are measured here, or from those of a
// network:
//
//     mpirun -n 2 fovea_bench_ranks_model                              measures, predicts, compares with two ranks
//     mpirun -n 2 fovea_bench_ranks_model GIGABYTES_PER_SECOND MICROSECONDS    predicts for this bandwidth and latency
#include "causal_call.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace causal_call;

namespace {

/// The constants of the machines.
struct machine {
    double pair;     // seconds for a query and a key, of many queries
    double key;      // seconds for a key and its value, of one query
    double byte;     // seconds for a byte on its way from one rank to another
    double latency;  // seconds until its first byte is there
};

constexpr double key_bytes = 2.0 * width * sizeof(float), row_bytes = (width + 2) * sizeof(float);
constexpr double collectives = 12;  // of a call: extents, runs, what is needed, whether anybody has thrown

/// Seconds of a call, of computing, and of what is sent meanwhile or afterwards.
struct prediction {
    double all, computing, sending;
    bool sending_binds() const { return sending > computing; }
};

double agreements(machine const& m, double ranks) { return collectives * std::ceil(std::log2(ranks)) * m.latency; }

/// Causal over n positions that are dealt to the ranks: keys travel, while those before them are computed.
prediction causal_over(machine const& m, double n, double ranks) {
    double const hop = m.latency + piece * key_bytes * m.byte, computing = n * n / 2 / ranks * m.pair;
    double const sending = ranks == 1 ? 0 : n / piece * hop;
    double const beginning = (ranks - 1) * hop + agreements(m, ranks);  // until the last rank has the first piece
    return {std::max(computing, sending) + beginning, computing, sending + beginning};
}

/// One query over n keys, of which each rank holds adjacent ones: it travels, and partial results come back.
prediction decoding_over(machine const& m, double n, double ranks) {
    double const computing = n / ranks * m.key;
    double const subtrees = 2 * std::log2(std::max(n / piece / ranks, 1.0)) + 1;  // of a rank, at most
    double const query = std::ceil(std::log2(ranks)) * (m.latency + width * sizeof(float) * m.byte);
    double const results = ranks == 1 ? 0 : m.latency + (ranks - 1) * subtrees * row_bytes * m.byte;
    double const sending = query + results + agreements(m, ranks);
    return {computing + sending, computing, sending};
}

/// The time of a message between the first two ranks.
double seconds_between(index_t bytes) {
    std::vector<char> message(static_cast<std::size_t>(bytes));
    int const rank = mpi::detail::rank_in(MPI_COMM_WORLD), count = static_cast<int>(bytes);
    constexpr int trips = 100;
    auto const all = time_of(MPI_COMM_WORLD, [&](mpi::traffic&) {
        for (int i = 0; i < 2 * trips && rank < 2; ++i)
            if (rank == i % 2) MPI_Send(message.data(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else MPI_Recv(message.data(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    return all.seconds / (2 * trips);
}

/// The time of a call whose positions, or whose keys alone, are spread over a communicator.
taken causal_here(MPI_Comm comm, index_t n) {
    auto const layout = mpi::striped(piece);
    auto const held = layout.held(n, mpi::detail::rank_in(comm), mpi::detail::size_of(comm));
    operands own(held, held);
    workspace scratch;
    return time_of(comm, [&](mpi::traffic& counts) {
        attend(scratch, mpi::ranks(comm, layout).counted_in(counts), spec, own.q, own.k, own.v, own.out);
    });
}
taken decoding_here(MPI_Comm comm, index_t n) {
    index_t const rank = mpi::detail::rank_in(comm), ranks = mpi::detail::size_of(comm);
    index_t const first = ceil_div(n, piece) * rank / ranks * piece,
                  last = std::min(ceil_div(n, piece) * (rank + 1) / ranks * piece, n);
    operands own(rank == 0 ? mpi::runs{{0, 1, 0}} : mpi::runs{}, mpi::runs{{first, last - first, 0}});
    workspace scratch;
    return time_of(comm, [&](mpi::traffic& counts) {
        attend(scratch, mpi::ranks(comm).counted_in(counts), spec, own.q, own.k, own.v, own.out);
    });
}

void print_table(char const* what, machine const& m, prediction (*of)(machine const&, double, double)) {
    std::printf("\n%s, seconds; * where sending takes longer than computing\n%10s", what, "ranks");
    for (double n = 1e5; n < 2e8; n *= 10) std::printf("%14.0e", n);
    for (double ranks = 1; ranks <= 1024; ranks *= 2) {
        std::printf("\n%10.0f", ranks);
        for (double n = 1e5; n < 2e8; n *= 10) {
            auto const predicted = of(m, n, ranks);
            std::printf("%13.3g%c", predicted.all, predicted.sending_binds() ? '*' : ' ');
        }
    }
    std::printf("\n");
}

void print_beside(char const* what, double predicted, double measured) {
    std::printf("%-46s %8.2f ms predicted, %8.2f ms measured\n", what, predicted * 1e3, measured * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int const rank = mpi::detail::rank_in(MPI_COMM_WORLD), size = mpi::detail::size_of(MPI_COMM_WORLD);
    constexpr index_t n = 16384, most_keys = index_t{1} << 19, large = index_t{1} << 20, small = 8;
    // All ranks at the same time, as in the calls that are predicted: they share caches and memory.
    machine m{causal_here(MPI_COMM_SELF, n).busy / (0.5 * n * n),
              decoding_here(MPI_COMM_SELF, most_keys).busy / static_cast<double>(most_keys), 0, 0};
    MPI_Allreduce(MPI_IN_PLACE, &m.pair, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &m.key, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (size > 1) {
        m.latency = seconds_between(small);
        m.byte = (seconds_between(large) - m.latency) / static_cast<double>(large - small);
    }
    auto const many = causal_here(MPI_COMM_WORLD, n), one = decoding_here(MPI_COMM_WORLD, most_keys);
    if (rank == 0) {
        std::printf("a core: %.3g ns for a pair, %.3g ns for a key of one query; between ranks: %.3g us, %.3g GB/s\n",
                    m.pair * 1e9, m.key * 1e9, m.latency * 1e6, m.byte > 0 ? 1e-9 / m.byte : 0);
        auto const of_causal = causal_over(m, n, size);
        print_beside("causal over 16384 positions", of_causal.all, many.seconds);
        print_beside("    busiest rank, of its processor", of_causal.computing, many.busy);
        print_beside("one query over 2^19 keys", decoding_over(m, most_keys, size).all, one.seconds);
        if (argc > 2) {
            m.byte = 1e-9 / std::atof(argv[1]);
            m.latency = std::atof(argv[2]) * 1e-6;
            std::printf("\nfrom here on between ranks: %s us, %s GB/s\n", argv[2], argv[1]);
        }
        std::printf("sending binds a causal call from so few positions of a rank on: %.0f\n",
                    2 * (m.latency / piece + key_bytes * m.byte) / m.pair);
        print_table("causal", m, causal_over);
        print_table("one query", m, decoding_over);
    }
    MPI_Finalize();
    return 0;
}
