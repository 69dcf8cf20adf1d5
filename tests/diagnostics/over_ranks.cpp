// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// needs: mpi/mpi.h
#include <fovea/fovea.hpp>
#include <fovea/interop/mpi.hpp>

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
