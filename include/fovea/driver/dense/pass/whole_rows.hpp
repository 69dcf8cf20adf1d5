// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that keeps all scores of a tile: for normalizers of whole rows, and where weights are asked for.
#pragma once

#include <fovea/driver/dense/pass/online.hpp>
#include <fovea/driver/dense/row_columns.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The scores of a tile of rows, from the first key that any of them sees to the last: after the last key they become
/// weights, and these are multiplied by values block by block.
template <class Blocking>
class whole_rows {
    using T = typename Blocking::number;
    using tile = score_tile<Blocking>;

public:
    using call_type = attention_call<Blocking>;
    using blocking = Blocking;
    using head_blocks = head_pairs<Blocking>;
    using scratch = typename tile::scratch;
    using partial_sums = no_partial_sums;
    static constexpr bool prefetches_rows = tile::prefetches_rows, keeps_scores = true;

    whole_rows(arena& memory, call_type const& call, partial_sums)
        : tile_(memory, call),
          columns_(memory, call),
          sums_{memory.template take<char>(Blocking::states * call.sums.state_bytes),
                memory.template take<T>(Blocking::rows * call.value_width())} {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
        call.sums.begin(call, sums_);
        columns_.begin();
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    /// S.
    void take(call_type const& call, block_mask<blocking> const& mask, head_blocks& from, key_run<blocking> const& at,
              scratch& buffers) {
        columns_.take(tile_, from, at, buffers, [&](index_t column) {
            return tile_.score(call, mask, from.keys, at, buffers, false, from.next, column);
        });
    }

    /// P of whole rows, the outputs that read rows, and P V.
    void finish(call_type const& call, head_blocks& from, scratch& buffers) {
        auto const& functions = call.sums;
        bool nonfinite = !functions.is_linear;
        if (!functions.selects)
            columns_.for_blocks(from,
                                [&](index_t k, index_t, index_t) { nonfinite = nonfinite || !from.values.finite(k); });
        auto const scores = columns_.part(buffers, columns_.from, columns_.to);
        if (nonfinite || functions.clears_excluded) tile_.mark_visible(scores);
        functions.normalize(call, tile_.rows(), sums_, scores);
        if (!functions.selects)
            columns_.for_blocks(from, [&](index_t, index_t first, index_t last) {
                add_values(call, from, columns_.part(buffers, first, last), nonfinite);
            });
        functions.finish(call, tile_.rows(), sums_);
    }

private:
    /// O += P V for one block of keys.
    void add_values(call_type const& call, head_blocks& from, score_block<Blocking> const& weights, bool nonfinite) {
        T ones[blocking::rows];
        std::fill_n(ones, blocking::rows, T{1});
        if (nonfinite) call.sums.add_visible(call, tile_.rows(), sums_, from.values, weights, ones);
        else if (!call.sums.add_nonzero(call, tile_.rows(), sums_, from.values, weights))
            call.sums.add(call, tile_.rows(), sums_, from.values, weights, ones, from.next);
    }

    tile tile_;
    row_columns<Blocking> columns_;
    online_state<T> sums_;
};

}  // namespace fovea::FOVEA_SET::driver
