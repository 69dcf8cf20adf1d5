// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results have the same bits on any number of ranks, whoever holds which pieces, where the pieces are the same.
#include "mpi/sequence.hpp"

using namespace sequences;

namespace {

constexpr index_t piece = 16;

/// Whole pieces, as many as there are, in the order of a shuffled deck: each rank takes every so manieth.
mpi::listed_t shuffled(index_t positions) {
    index_t const pieces = ceil_div(positions, piece);
    std::vector<index_t> own;
    for (index_t i = world_rank(); i < pieces; i += world_size())
        for (index_t n = i * 5 % pieces * piece; n < std::min(positions, (i * 5 % pieces + 1) * piece); ++n)
            own.push_back(n);
    return mpi::listed(own);
}

template <class Spec>
void check_bits(sequence<float> const& whole, Spec const& spec) {
    tensor<float, 4> alone(whole.result());
    attend(mpi::ranks(MPI_COMM_SELF).pieces(piece), spec, whole.q, whole.k, whole.v, alone);
    auto const queries = whole.q.extent(2);
    auto const check = [&](auto const& layout) {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text());
        CHECK(whole.over(layout, piece, spec).elements == rows_of(alone, held_here(layout, queries)).elements);
    };
    check(mpi::striped(piece));
    check(mpi::striped(3 * piece));
    check(shuffled(queries));
}

}  // namespace

TEST_CASE("the same bits on any number of ranks", "[mpi]") {
    auto const slopes = alibi_slopes(4);
    check_bits(sequence<float>(167, 167), scaled_dot | alibi(slopes) | causal | softmax | weighted_sum);
    check_bits(sequence<float>(167, 167), l1_distance(2) | softmax_with_sink(slopes) | weighted_sum);
}
