// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of keys divided so that vectors of queries that see none of a piece are left out of its products.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Adjacent vectors of queries of a tile.
struct vector_run {
    index_t first, last;
};

/// A run of keys cut into pieces, each with the vectors of queries that see any of it.
template <class Blocking>
class sub_tiles {
    using run = granule_run<Blocking>;

public:
    struct piece {
        vector_run vectors;
        run granules;
    };

    piece const* begin() const { return pieces_; }
    piece const* end() const { return pieces_ + count_; }
    index_t size() const { return count_; }

    /// All vectors see all.
    void take_whole(index_t vectors, run granules) {
        count_ = 0;
        add({0, vectors}, granules);
    }

    /// Cut where a vector sees nothing at the ends of the run, each register tile of vectors for itself; span(v) are
    /// the queries of some vectors. Worth its bounds where an eighth of the products is left out.
    template <class Keys, class Span>
    [[gnu::noinline]] void cut(index_t vectors, block_mask<Blocking> const& mask, Keys const& keys,
                               key_run<Blocking> const& at, Span const& span) {
        count_ = 0;
        index_t const begin = keys.first(at.block), end = keys.last(at.block);
        for (index_t v = 0; v < vectors; v += Blocking::nv) {
            vector_run const tile{v, std::min(v + Blocking::nv, vectors)};
            if (tile.last - v < vectors
                && mask.coverage(span(tile), begin + at.granules.first * Blocking::granule,
                                 std::min(begin + at.granules.last * Blocking::granule, end))
                       .never())
                continue;
            run of[Blocking::nv];
            for (index_t n = v; n < tile.last; ++n)
                of[n - v] = mask.trimmed({span({n, n + 1}), begin, end}, at.granules, at.mixed);
            cut_register_tile(tile, of);
        }
        index_t const granules = at.granules.last - at.granules.first;
        index_t left = 0;
        for (auto const& [of, seen] : *this) left += (of.last - of.first) * (seen.last - seen.first);
        at.cuts->learn(8 * left <= 7 * vectors * granules);
    }

private:
    /// Pieces of some vectors, of[n] being what the nth of them sees.
    void cut_register_tile(vector_run vectors, run* of) {
        index_t const count = vectors.last - vectors.first;
        // The vectors between are widened, so that those that see a granule are adjacent.
        for (index_t v = 1; v + 1 < count; ++v) {
            auto const &before = of[v - 1], &after = of[v + 1];
            of[v] = {std::min(of[v].first, std::max(before.first, after.first)),
                     std::max(of[v].last, std::min(before.last, after.last))};
        }
        auto [from, last] = of[0];
        for (index_t v = 1; v < count; ++v) {
            from = std::min(from, of[v].first);
            last = std::max(last, of[v].last);
        }
        while (from < last) {
            vector_run seeing{count, 0};
            index_t to = last;  // the next place where a vector begins or ends
            for (index_t v = 0; v < count; ++v) {
                auto const& own = of[v];
                if (own.first <= from && from < own.last) seeing = {std::min(seeing.first, v), v + 1};
                for (index_t const end : {own.first, own.last})
                    if (from < end) to = std::min(to, end);
            }
            if (seeing.first < seeing.last)
                add({vectors.first + seeing.first, vectors.first + seeing.last}, {from, to});
            from = to;
        }
    }
    void add(vector_run vectors, run granules) { pieces_[count_++] = {vectors, granules}; }

    piece pieces_[2 * Blocking::vectors];
    index_t count_ = 0;
};

}  // namespace fovea::FOVEA_SET::driver
