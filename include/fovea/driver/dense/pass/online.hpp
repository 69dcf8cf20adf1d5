// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass of attention with an online normalizer: the body of the flash loop.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/score_tile.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The keys and values of one head.
template <class Blocking>
struct head_pairs {
    head_keys<Blocking> keys;
    head_values<Blocking> values;
    next_lines next{};

    static constexpr bool packs = !Blocking::queries_in_lanes;  // blocks stay packed for the next block of rows
    FOVEA_CONTROL head_pairs(attention_call<Blocking> const& call, arena& memory, index_t entries)
        : keys(call, memory, entries), values(call, memory, entries) {}

    void begin(head_group heads) {
        keys.begin(heads);
        values.begin(heads);
    }
    index_t first(index_t block) const { return keys.first(block); }
    index_t last(index_t block) const { return keys.last(block); }
    void prepare(index_t block) {
        keys.prepare(block, next);
        values.prepare(block, next);
    }
};

/// The scores of a tile, and m, l and O of its rows.
template <class Blocking>
class online {
    using T = typename Blocking::number;

public:
    using call_type = attention_call<Blocking>;
    using blocking = Blocking;
    using tile = score_tile<Blocking>;
    using head_blocks = head_pairs<Blocking>;
    using scratch = typename tile::scratch;
    static constexpr bool prefetches_rows = tile::prefetches_rows, keeps_scores = false;

    /// Where unfinished sums and states are left: (rows of all tiles, value width).
    struct partial_sums {
        T* sums = nullptr;
        char* states = nullptr;
        index_t state_bytes = 0;

        bool empty() const { return sums == nullptr; }
        partial_sums tile(index_t t, call_type const& call) const {
            index_t const row = t * Blocking::rows;
            return empty() ? partial_sums{}
                           : partial_sums{sums + row * call.value_width(), states + row * state_bytes, state_bytes};
        }
    };

    online(arena& memory, call_type const& call, partial_sums const& at)
        : tile_(memory, call),
          sums_{at.empty() ? memory.template take<char>(Blocking::states * call.sums.state_bytes) : at.states,
                at.empty() ? memory.template take<T>(Blocking::rows * call.value_width()) : at.sums} {}

    /// Begins with the `count` rows from `first` on.
    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        call.sums.begin(call, sums_);
    }

    template <class Scratch>
    void finish(call_type const& call, head_blocks const&, Scratch const&) {
        call.sums.finish(call, tile_.rows(), sums_);
    }

    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    //! [flash]
    /// FlashAttention-2 (Dao, 2023, algorithm 1): the sums are rescaled when m grows and divided by l once, after the
    /// last key. A tile of queries Q against a run of keys and values K, V; m is the running maximum of each row, l its
    /// running sum, O the sum of values.
    void take(call_type const& call, block_mask<blocking> const& mask, head_blocks& from, key_run<blocking> const& at,
              scratch& buffers) {
        bool const masked = any_mixed(at),
                   may_exclude = !call.sums.selects && (masked || !call.functions.is_bare_product);
        bool const asks_values = may_exclude && (!few_rows(call) || (Blocking::queries_in_lanes && masked));
        bool const unsafe = asks_values && !is_finite(call, from, at);
        auto const s = tile_.score(call, mask, from.keys, at, buffers, masked && !unsafe, from.next);  // S, masked
        bool const nonfinite = asks_values ? unsafe && tile_.any_excluded(s) : finds_nonfinite(call, from, at, s);
        if (nonfinite) tile_.mark_visible(s);
        auto const& rows = tile_.rows();
        auto const& sums = call.sums;
        alignas(64) T rescale[blocking::rows];
        sums.fold(call, rows, sums_, s, rescale);  // m, l, P = fold(m, l, S); for softmax P = exp(S - m)
        if (sums.selects) return;
        if (nonfinite) sums.add_visible(call, rows, sums_, from.values, s, rescale);
        else sums.add(call, rows, sums_, from.values, s, rescale, from.next);  // O = O * rescale + P V
    }
    //! [flash]

protected:
    /// Begins with rows that lie where they were left.
    void resume(call_type const& call, head_group heads, index_t first, index_t count, bool empty) {
        tile_.begin(call, heads, first, count);
        sums_.empty = empty;
    }
    bool empty() const { return sums_.empty; }

private:
    /// Scores of excluded pairs become weights of 0, and 0 times a value is 0, if the value is finite. A pair is
    /// excluded by the mask, by what is computed of its product, or because the product itself is -inf.
    static bool is_finite(call_type const& call, head_blocks const& from, key_run<blocking> const& at) {
        return call.sums.is_linear && from.values.finite(at.block);
    }

    /// Whether values are finite is remembered for the tiles that follow, but costs more than looking at the scores
    /// where there are no more rows than a value has features.
    static bool few_rows(call_type const& call) {
        return call.rows <= std::max<index_t>(blocking::rows, call.value_features);
    }
    bool finds_nonfinite(call_type const& call, head_blocks const& from, key_run<blocking> const& at,
                         score_block<blocking> const& s) const {
        if (call.sums.selects) return false;
        return few_rows(call) ? tile_.any_excluded(s) && !is_finite(call, from, at)
                              : !is_finite(call, from, at) && tile_.any_excluded(s);
    }

    tile tile_;
    online_state<T> sums_;
};

}  // namespace fovea::FOVEA_SET::driver
