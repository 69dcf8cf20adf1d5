// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass of attention with an online normalizer: the body of the flash loop.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Scores and what is carried for their rows, whichever operand lies in lanes.
///
/// `Sums::tile`, a score tile, computes S for a tile of queries and a run of keys; `Sums` carries m, l and O for its
/// rows:
///
///     selects(call), is_linear(call)          one key wins; O is a sum of weighted values
///     key_blocks(call, memory, slots)         the keys and values of a head
///     partial_sums                            where unfinished sums are left: tile(t, call), empty()
///     Sums(memory, call, partial_sums), begin(call, tile), finish(call, tile)
///     fold(call, tile, keys, run, scratch, rescale)    P, and the rescale factors of the sums so far
///     add(...), add_visible(...)                       O
template <class Sums>
class online {
    using tile_type = typename Sums::tile;
    static_assert(score_tile<tile_type>);

public:
    using call = typename Sums::call;
    using shape = typename Sums::shape;
    using key_blocks = typename Sums::key_blocks;
    using partial_sums = typename Sums::partial_sums;
    using scratch = typename tile_type::scratch;
    using key_run = driver::key_run<shape>;
    static constexpr bool prefetches_rows = tile_type::prefetches_rows;

    online(arena& memory, call const& all, partial_sums const& at) : tile_(memory, all), sums_(memory, all, at) {}

    /// Begins with the `count` rows from `first` on.
    void begin(call const& all, head_group heads, index_t first, index_t count) {
        tile_.begin(all, heads, first, count);
        sums_.begin(all, tile_);
    }

    box span(dense_rows const& all) const { return tile_.span(all); }
    bool whole_panels() const { return tile_.whole_panels(); }

    //! [flash]
    /// FlashAttention-2 (Dao, 2023, algorithm 1): the sums are rescaled when m grows and divided by l once, after the
    /// last key. A tile of queries Q against a run of keys and values K, V; m is the running maximum of each row, l its
    /// running sum, O the sum of values.
    void take(call const& all, block_mask<shape> const& mask, key_blocks& from, key_run const& at, scratch& of) {
        alignas(64) typename Sums::number rescale[shape::rows];
        bool const masked = any_mixed(at), may_exclude = !Sums::selects(all) && (masked || !is_bare_product(all));
        bool nonfinite = may_exclude && !is_finite(all, from, at);                   // values, beside excluded pairs
        tile_.score(all, mask, from.keys, at, of, masked && !nonfinite, from.next);  // S = score(Q K^T), or excluded
        if (!may_exclude) nonfinite = finds_nonfinite(all, from, at, of);
        if (nonfinite) tile_.mark_visible(from.keys, at, of);
        sums_.fold(all, tile_, from, at, of, rescale);  // m, l, P = fold(m, l, S); for softmax P = exp(S - m)
        if (Sums::selects(all)) return;
        if (nonfinite) sums_.add_visible(all, tile_, from, at, of, rescale);
        else sums_.add(all, tile_, from, at, of, rescale);  // O = O * rescale + P V; rescale = exp(m before - m)
    }
    //! [flash]

    void finish(call const& all) { sums_.finish(all, tile_); }

private:
    /// Scores of excluded pairs become weights of 0, and 0 times a value is 0, if the value is finite. A pair is
    /// excluded by the mask, by what is computed of its product, or because the product itself is -inf.
    static bool is_bare_product(call const& all) { return all.functions.is_bare_product; }
    static bool is_finite(call const& all, key_blocks const& from, key_run const& at) {
        return Sums::is_linear(all) && from.finite(at.block);
    }

    /// Looks at products alone. Whether values are finite is remembered for the tiles that follow, but costs more than
    /// looking at the scores where there are no more rows than a value has features.
    bool finds_nonfinite(call const& all, key_blocks const& from, key_run const& at, scratch& of) const {
        if (Sums::selects(all)) return false;
        auto const excludes = [&] { return tile_.any_excluded(from.keys, at, of); };
        return all.rows <= std::max<index_t>(shape::rows, all.value_features) ? excludes() && !is_finite(all, from, at)
                                                                              : !is_finite(all, from, at) && excludes();
    }

    tile_type tile_;
    Sums sums_;
};

}  // namespace fovea::FOVEA_SET::driver
