// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a causal call over processes of MPI beside one call of the first process alone, both with saved rows.
#include "causal_call.hpp"

#include <fovea/interop/mpi_gradient.hpp>

#include <cstdio>
#include <cstdlib>

using namespace causal_call;

namespace {

/// The share of one process of a call and of its gradient.
struct gradient_operands : operands {
    tensor<float, 2> d_out, d_q, d_k, d_v;
    saved_rows<float> state;
    explicit gradient_operands(mpi::runs const& held)
        : operands(held, held), d_out(rows(held, 0.23f)), d_q(q.extents), d_k(k.extents), d_v(v.extents) {}

    template <class... Before>
    void attend(Before&... before) {
        fovea::attend(before..., spec, q, k, v, out, save(state));
    }
    template <class... Before>
    void differentiate(Before&... before) {
        gradient(before..., spec, q, k, v, d_out, state, grad(q, d_q), grad(k, d_k), grad(v, d_v));
    }
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int const rank = mpi::detail::rank_in(MPI_COMM_WORLD), size = mpi::detail::size_of(MPI_COMM_WORLD);
    index_t const positions = argc > 1 ? std::atol(argv[1]) : 16384;
    auto const layout = mpi::striped(piece);
    gradient_operands own(layout.held(positions, rank, size));
    workspace scratch;
    auto const of_attend = mpi::ranks(MPI_COMM_WORLD, layout);
    own.attend(scratch, of_attend);
    mpi::traffic sent;
    auto const [seconds, busy] = time_of(MPI_COMM_WORLD, [&](mpi::traffic& counts) {
        auto const ranks = of_attend.counted_in(counts);
        own.differentiate(scratch, ranks);
        sent = counts;
    });
    if (rank == 0) {
        // The other processes have ended their work, and this one has a processor to itself.
        gradient_operands whole({{0, positions, 0}});
        whole.attend(scratch);
        auto const [alone, alone_busy] = time_of(MPI_COMM_SELF, [&](mpi::traffic&) { whole.differentiate(scratch); });
        std::printf("the gradient of %ld positions on %d ranks: %.1f ms, without ranks %.1f ms: %.2f times as fast\n",
                    static_cast<long>(positions), size, seconds * 1e3, alone * 1e3, alone / seconds);
        std::printf("    busiest rank %.1f ms of its processor, without ranks %.1f: %.2f; rank 0 sent %ld bytes\n",
                    busy * 1e3, alone_busy * 1e3, alone_busy / busy, static_cast<long>(sent.bytes_sent));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
