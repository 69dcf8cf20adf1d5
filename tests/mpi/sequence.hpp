// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sequence that every rank knows whole, and of which each holds some positions.
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/interop/mpi.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"

#include <numeric>
#include <span>
#include <vector>

namespace sequences {

using namespace fovea;

inline int world_rank() { return mpi::detail::rank_in(MPI_COMM_WORLD); }
inline int world_size() { return mpi::detail::size_of(MPI_COMM_WORLD); }

/// The rows of a tensor that some runs name, one after the other.
template <class T>
tensor<T, 4> rows_of(tensor<T, 4> const& all, mpi::runs const& runs) {
    tensor<T, 4> some({all.extent(0), all.extent(1), mpi::detail::positions_in(runs), all.extent(3)});
    for (auto const& run : runs)
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t h = 0; h < all.extent(1); ++h)
                for (index_t n = 0; n < run.count; ++n)
                    for (index_t c = 0; c < all.extent(3); ++c)
                        some(b, h, run.place + n, c) = all(b, h, run.first + n, c);
    return some;
}
template <class T>
tensor<T, 3> rows_of(tensor<T, 3> const& all, mpi::runs const& runs) {
    tensor<T, 3> some({all.extent(0), all.extent(1), mpi::detail::positions_in(runs)});
    for (auto const& run : runs)
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t h = 0; h < all.extent(1); ++h)
                for (index_t n = 0; n < run.count; ++n) some(b, h, run.place + n) = all(b, h, run.first + n);
    return some;
}

/// The positions of a tensor (batch, position, feature) that some runs name.
template <class T>
tensor<T, 3> positions_of(tensor<T, 3> const& all, mpi::runs const& runs) {
    tensor<T, 3> some({all.extent(0), mpi::detail::positions_in(runs), all.extent(2)});
    for (auto const& run : runs)
        for (index_t b = 0; b < all.extent(0); ++b)
            for (index_t n = 0; n < run.count; ++n)
                for (index_t c = 0; c < all.extent(2); ++c) some(b, run.place + n, c) = all(b, run.first + n, c);
    return some;
}

/// Runs that leave ranks without a position, and give the others different numbers of them: rank r has those from
/// where(r) to where(r + 1).
inline mpi::runs uneven(index_t positions, int rank, int ranks) {
    auto const where = [&](index_t r) {
        return r <= 1 && ranks > 1 ? 0 : positions * r * r / (index_t{ranks} * ranks);
    };
    mpi::runs own;
    mpi::detail::add_run(own, where(rank), where(rank + 1) - where(rank));
    return own;
}
/// 0, 1, ...
inline std::vector<index_t> all_of(index_t positions) {
    std::vector<index_t> all(static_cast<std::size_t>(positions));
    std::iota(all.begin(), all.end(), index_t{0});
    return all;
}
/// The positions that a layout gives this rank.
template <class Layout>
mpi::runs held_here(Layout const& layout, index_t positions) {
    if constexpr (std::is_same_v<Layout, mpi::contiguous_t>) return uneven(positions, world_rank(), world_size());
    else if constexpr (std::is_same_v<Layout, mpi::listed_t>) return layout.own;
    else return layout.held(positions, world_rank(), world_size());
}

template <class T = float>
struct sequence {
    testing::dice random{29};
    tensor<T, 4> q, k, v;

    sequence(index_t queries, index_t keys, index_t batches = 2, index_t heads = 4, index_t key_heads = 2)
        : q(testing::random_tensor<T>(random, extents_t<4>{batches, heads, queries, 16}, 2)),
          k(testing::random_tensor<T>(random, extents_t<4>{batches, key_heads, keys, 16}, 2)),
          v(testing::random_tensor<T>(random, extents_t<4>{batches, key_heads, keys, 11})) {}

    extents_t<4> result() const { return {q.extent(0), q.extent(1), q.extent(2), v.extent(3)}; }
    extents_t<3> rows() const { return {q.extent(0), q.extent(1), q.extent(2)}; }

    /// The results of this rank.
    template <class Layout, class Spec, class... Asked>
    tensor<T, 4> over(Layout const& layout, index_t piece, Spec const& spec, Asked const&... asked) const {
        auto const queries = held_here(layout, q.extent(2)), keys = held_here(layout, k.extent(2));
        auto const own_q = rows_of(q, queries), own_k = rows_of(k, keys), own_v = rows_of(v, keys);
        tensor<T, 4> out({q.extent(0), q.extent(1), own_q.extent(2), v.extent(3)}, T(7));
        attend(threads(2), mpi::ranks(MPI_COMM_WORLD, layout).pieces(piece), spec, own_q, own_k, own_v, out, asked...);
        return out;
    }
};

/// The results of all ranks have the bits of those of one.
template <class Layout, class Spec>
void check_bits(sequence<float> const& whole, Layout const& layout, index_t piece, Spec const& spec) {
    tensor<float, 4> alone(whole.result());
    attend(mpi::ranks(MPI_COMM_SELF).pieces(piece), spec, whole.q, whole.k, whole.v, alone);
    INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << text(spec));
    CHECK(whole.over(layout, piece, spec).elements == rows_of(alone, held_here(layout, whole.q.extent(2))).elements);
}

/// The results of all ranks are those of the definition over the whole sequence.
template <class Layout, class Spec>
void check_defined(sequence<float> const& whole, Layout const& layout, index_t piece, Spec const& spec) {
    tensor<float, 4> plain(whole.result());
    tensor<double, 4> defined(whole.result());
    attend(spec, whole.q, whole.k, whole.v, plain);
    reference::attend(spec, whole.q, whole.k, whole.v, defined);
    auto const allowed = testing::tolerance_for<float>(std::span<double const>(defined.elements),
                                                       std::span<float const>(plain.elements));
    auto const got = whole.over(layout, piece, spec);
    auto const expected = rows_of(defined, held_here(layout, whole.q.extent(2)));
    INFO("rank " << world_rank() << " of " << world_size() << ", " << layout.text() << ", " << text(spec));
    CHECK_NOTHROW(testing::check_close("result", std::span<double const>(expected.elements),
                                       std::span<float const>(got.elements), allowed));
}

}  // namespace sequences
