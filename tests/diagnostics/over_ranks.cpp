// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// needs: mpi/mpi.h
#include <fovea/fovea.hpp>
#include <fovea/interop/mpi.hpp>

using namespace fovea;

// case: ranks_with_a_list_of_keys
// sentence: fovea: over ranks keys travel piece by piece: a mask that lists keys cannot be used
void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] graph_view graph) {
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | neighbors(graph) | softmax | weighted_sum, x, result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | causal | softmax | weighted_sum, x, result);
#endif
}

// case: ranks_with_pages
// sentence: fovea: over ranks keys and values are views: each rank holds some positions, and pages and scales by blocks
// are of all of them
void call(view<float, 2> x, view<float, 2> result, [[maybe_unused]] view<float, 4> pages,
          [[maybe_unused]] view<int const, 2> table) {
#ifdef FOVEA_BROKEN
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, paged(pages, table), paged(pages, table),
           result);
#else
    attend(mpi::ranks(MPI_COMM_WORLD), scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}
