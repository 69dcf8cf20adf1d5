// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// needs: mpi/mpi.h
#include <fovea/fovea.hpp>
#include <fovea/interop/mpi_gradient.hpp>

using namespace fovea;

// case: ranks_with_weights_of_a_list
// sentence: fovea: over ranks a rank has the keys that its queries list, and no others: beside the result there are lse
// and save
void call(view<float, 2> x, view<float, 2> result, view<float, 1> sums, graph_view graph,
          [[maybe_unused]] view<float, 2> all) {
    auto const spec = scaled_dot | neighbors(graph) | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(sums);
    attend(mpi::ranks(MPI_COMM_WORLD), spec, x, result, weights(all));
#else
    attend(mpi::ranks(MPI_COMM_WORLD), spec, x, result, lse(sums));
#endif
}

// case: ranks_with_batch_invariant
// sentence: fovea: over ranks sums are added rank by rank: leave out batch_invariant
void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum | batch_invariant, x, result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: ranks_with_relative_values
// sentence: fovea: over ranks there is no relative_values: what it adds belongs to pairs of one process
void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] view<float, 2> table) {
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | relative_values(table), x, result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: ranks_with_ragged_pages
// sentence: fovea: over ranks the keys and values of a ragged batch are views: pages and scales by blocks are those of
// one sequence
void call(view<float, 2> x, view<float, 2> result, view<int, 1> offsets, [[maybe_unused]] view<float, 4> pages,
          [[maybe_unused]] view<int const, 2> table) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), spec, x, paged(pages, table), paged(pages, table), result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), spec, x, x, x, result);
#endif
}

// case: ranks_with_a_ragged_list
// sentence: fovea: a mask that lists keys cannot be used in a ragged call
void call(view<float, 2> x, view<float, 2> result, view<int, 1> offsets, [[maybe_unused]] graph_view graph) {
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), scaled_dot | neighbors(graph) | softmax | weighted_sum, x,
           result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), scaled_dot | softmax | weighted_sum, x, result);
#endif
}

// case: ranks_with_ragged_weights
// sentence: fovea: over ranks, ragged has lse, past_state and present_state beside the result; ask for others by
// sequence
void call(view<float, 2> x, view<float, 2> result, view<int, 1> offsets, view<float, 1> sums,
          [[maybe_unused]] view<float, 2> all) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(sums);
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), spec, x, result, weights(all));
#else
    attend(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), spec, x, result, lse(sums));
#endif
}

// case: explaining_a_ragged_batch_over_ranks
// sentence: fovea: ragged(...) runs one call for each sequence: explain that of one sequence, without ragged
void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] view<int, 1> offsets) {
    auto const spec = scaled_dot | softmax | weighted_sum;
#ifdef FOVEA_BROKEN
    static_cast<void>(explain(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), spec, x, result));
#else
    static_cast<void>(explain(mpi::ranks(MPI_COMM_WORLD), spec, x, result));
#endif
}

// case: ranks_with_the_gradient_of_whole_rows
// sentence: fovea: over ranks there are gradients of softmax, with a sink or without, and of weights that go by key,
// such as unnormalized: other normalizers need whole rows of scores
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x) {
#ifdef FOVEA_BROKEN
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | sparsemax | weighted_sum, x, d_result, grad(x, d_x));
#else
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: ranks_with_the_gradient_of_lse
// sentence: fovea: over ranks gradient takes no d_lse, d_weights or d_entropy
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x, [[maybe_unused]] view<float, 1> sums) {
#ifdef FOVEA_BROKEN
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, d_result, d_lse(sums), grad(x, d_x));
#else
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: ranks_with_the_gradient_of_a_list
// sentence: fovea: over ranks there are gradients of keys that travel piece by piece: not those of a mask that lists
// keys, or of a running state
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x, [[maybe_unused]] graph_view graph) {
#ifdef FOVEA_BROKEN
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | neighbors(graph) | softmax | weighted_sum, x, d_result,
             grad(x, d_x));
#else
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | causal | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}

// case: ranks_with_the_gradient_of_pages
// sentence: fovea: over ranks there are gradients of keys and values that are views: not in pages, or scaled by blocks
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x, [[maybe_unused]] view<float, 4> pages,
          [[maybe_unused]] view<int const, 2> table) {
#ifdef FOVEA_BROKEN
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, paged(pages, table),
             paged(pages, table), d_result, grad(x, d_x));
#else
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, x, x, d_result, grad(x, d_x));
#endif
}

// case: ranks_with_the_gradient_of_a_ragged_batch
// sentence: fovea: over ranks there are gradients of one sequence: ask for those of a ragged batch sequence by sequence
void call(view<float, 2> x, view<float, 2> d_result, view<float, 2> d_x, [[maybe_unused]] view<int, 1> offsets) {
#ifdef FOVEA_BROKEN
    gradient(mpi::ranks(MPI_COMM_WORLD), ragged(offsets), scaled_dot | softmax | weighted_sum, x, d_result,
             grad(x, d_x));
#else
    gradient(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, d_result, grad(x, d_x));
#endif
}
