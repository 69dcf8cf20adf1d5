// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The binary tree in which partial results over the pieces of a sequence are merged: the same for any number of
// holders, each of which merges the subtrees that it has to itself.
#pragma once

#include <fovea/core/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace fovea::FOVEA_SET::driver {

/// What has been merged into one partial result: pieces [first, first + size), of which the last need not exist. `size`
/// is a power of two, and divides `first`.
struct subtree {
    std::size_t first, size;
    int holder;
};

/// A merge: `from` goes into `to`, whose pieces come before.
struct merge_step {
    std::size_t to, from;
};

inline constexpr int no_holder = -1;

inline constexpr int several_holders = -2;

/// Appends the largest subtrees of one holder among some pieces, unless all of these have one, which is returned.
inline int find_subtrees(std::vector<int> const& holders, std::size_t first, std::size_t size,
                         std::vector<subtree>& found) {
    if (first >= holders.size()) return no_holder;
    if (size == 1) return holders[first];
    std::size_t const half = size / 2;
    int const left = find_subtrees(holders, first, half, found);
    auto const between = static_cast<std::ptrdiff_t>(found.size());
    int const right = find_subtrees(holders, first + half, half, found);
    if (left == right || right == no_holder) return left;
    if (left == no_holder) return right;
    if (left >= 0) found.insert(found.begin() + between, {first, half, left});
    if (right >= 0) found.push_back({first + half, half, right});
    return several_holders;
}

/// The largest subtrees whose pieces have one holder, in order; `holders` has that of each piece, or no_holder where
/// there is nothing to be merged.
inline std::vector<subtree> subtrees_of(std::vector<int> const& holders) {
    std::vector<subtree> found;
    auto const size = std::bit_ceil(holders.size());
    int const all = find_subtrees(holders, 0, size, found);
    if (all >= 0) found.push_back({0, size, all});
    return found;
}

/// Appends the merges of the partial results of a subtree, in their order: afterwards the first of them is the result.
/// `firsts` has the first piece of each partial result, in order, also of those outside the subtree.
inline void add_merges(std::vector<std::size_t> const& firsts, std::size_t first, std::size_t size,
                       std::vector<merge_step>& steps) {
    auto const from = [&](std::size_t piece) {
        return static_cast<std::size_t>(std::lower_bound(firsts.begin(), firsts.end(), piece) - firsts.begin());
    };
    std::size_t const half = size / 2, left = from(first), right = from(first + half), last = from(first + size);
    if (last - left < 2) return;
    add_merges(firsts, first, half, steps);
    add_merges(firsts, first + half, half, steps);
    if (left != right && right != last) steps.push_back({left, right});
}

}  // namespace fovea::FOVEA_SET::driver
