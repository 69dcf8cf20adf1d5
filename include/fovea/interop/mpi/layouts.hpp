// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which positions of a sequence each rank holds, and the pieces that they are cut into.
#pragma once

#include <fovea/core/errors.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/core/view.hpp>
#include <fovea/spec/part/of_part.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace fovea::FOVEA_SET::mpi {

using runs = std::vector<position_run>;

namespace detail {
inline index_t positions_in(runs const& all) {
    index_t n = 0;
    for (auto const& run : all) n += run.count;
    return n;
}
inline void add_run(runs& to, index_t first, index_t count) {
    if (count > 0) to.push_back({first, count, positions_in(to)});
}
}  // namespace detail

/// contiguous: each rank holds the positions that follow those of the rank before it, as many as it likes.
struct contiguous_t {
    static runs held(std::vector<index_t> const& counts, index_t rank) {
        index_t first = 0;
        for (index_t r = 0; r < rank; ++r) first += counts[static_cast<std::size_t>(r)];
        runs own;
        detail::add_run(own, first, counts[static_cast<std::size_t>(rank)]);
        return own;
    }
    static std::string text() { return "contiguous"; }
};
inline constexpr contiguous_t contiguous{};

/// striped(block): blocks of positions are dealt to the ranks one after the other, and so on from the first rank.
struct striped_t {
    index_t block;

    runs held(index_t positions, index_t rank, index_t ranks) const {
        runs own;
        for (index_t first = rank * block; first < positions; first += ranks * block)
            detail::add_run(own, first, std::min(block, positions - first));
        return own;
    }
    std::string text() const { return "striped(" + std::to_string(block) + ")"; }
};
inline striped_t striped(integer_argument block) {
    fovea::detail::require_1_or_more("striped: the block", block.value);
    return {block.value};
}

/// zigzag: of twice as many chunks as there are ranks, rank r holds chunk r from the front and chunk r from the back.
struct zigzag_t {
    static runs held(index_t positions, index_t rank, index_t ranks) {
        auto const first = [&](index_t chunk) { return chunk * positions / (2 * ranks); };
        runs own;
        for (index_t const chunk : {rank, 2 * ranks - 1 - rank})
            detail::add_run(own, first(chunk), first(chunk + 1) - first(chunk));
        return own;
    }
    static std::string text() { return "zigzag"; }
};
inline constexpr zigzag_t zigzag{};

/// listed(runs): this rank's positions as runs of adjacent ones, in the order in which it has them; each rank its own.
struct listed_t {
    runs own;
    static std::string text() { return "listed"; }
};
template <class Positions>
listed_t listed(Positions const& positions) {
    listed_t all;
    for (auto const p : positions) {
        auto const position = static_cast<index_t>(p);
        if (!all.own.empty() && all.own.back().first + all.own.back().count == position) ++all.own.back().count;
        else all.own.push_back({position, 1, fovea::mpi::detail::positions_in(all.own)});
    }
    return all;
}

namespace detail {
/// The runs of this rank, which has counts[rank] positions.
template <class Layout>
runs runs_of(Layout const& layout, std::vector<index_t> const& counts, index_t rank, char const* what) {
    index_t const has = counts[static_cast<std::size_t>(rank)];
    index_t all = 0;
    for (index_t const n : counts) all += n;
    auto const own = [&] {
        if constexpr (std::is_same_v<Layout, listed_t>) return layout.own;
        else if constexpr (std::is_same_v<Layout, contiguous_t>) return layout.held(counts, rank);
        else return layout.held(all, rank, static_cast<index_t>(counts.size()));
    }();
    if (positions_in(own) != has)
        throw shape_error(what, " has ", fovea::detail::counted(has, "position"), ", of ", all, " on all ranks ",
                          layout.text(), " gives it ", positions_in(own));
    return own;
}

/// Runs, cut where the position is a multiple of `longest`.
inline runs cut(runs const& whole, index_t longest) {
    runs pieces;
    for (auto const& run : whole)
        for (index_t first = run.first; first < run.first + run.count;) {
            index_t const count = std::min(longest - first % longest, run.first + run.count - first);
            pieces.push_back({first, count, run.place + first - run.first});
            first += count;
        }
    return pieces;
}

/// A piece of the keys, and the rank that holds it.
struct held_piece : position_run {
    int holder = 0;
};

/// The pieces of all ranks in the order of their positions.
///
/// Errors: shape_error where a position is held by no rank, or by more than one.
inline std::vector<held_piece> in_order(std::vector<runs> const& of_ranks, index_t longest, char const* what) {
    std::vector<held_piece> pieces;
    for (std::size_t r = 0; r < of_ranks.size(); ++r)
        for (auto const& piece : cut(of_ranks[r], longest)) pieces.push_back({piece, static_cast<int>(r)});
    std::sort(pieces.begin(), pieces.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    index_t next = 0;
    for (auto const& piece : pieces) {
        if (piece.first > next) throw shape_error("position ", next, " of ", what, " is held by no rank");
        if (piece.first < next) throw shape_error("position ", piece.first, " of ", what, " is held more than once");
        next += piece.count;
    }
    return pieces;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET::mpi
