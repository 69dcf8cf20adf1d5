// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/row_tile.hpp>
#include <fovea/driver/dense/visible_runs.hpp>
#include <fovea/driver/prefetch.hpp>

#include <algorithm>
#include <new>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal where weights are asked for, or a normalizer needs whole rows: the scores of a tile of rows are
/// kept, from the first key that any of them sees to the last.
template <class Call>
class whole_rows {
    using T = typename Call::number;
    using recipe = typename Call::recipe;
    using operands = typename Call::operands;
    using tile = row_tile<Call>;
    using shape = typename tile::shape;
    using keys_type = typename tile::keys;
    using room_type = typename tile::room;
    using normalizing = typename Call::normalizing;

public:
    explicit whole_rows(dense_context<Call> const& context) : call_(context), visible_(context) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        for_row_blocks<shape>(executor, scratch, call_,
                              [&](arena& memory, head_group head, block_range rows) { run_head(memory, head, rows); });
    }

private:
    /// Where the scores of a tile are: columns of its rows, the first of which is a key.
    struct columns {
        index_t first_key;  // the first of a block
        index_t from, to;   // columns with scores: whole packs

        index_t first_block() const { return (first_key + from) / shape::block_keys; }
        index_t last_block() const { return (first_key + to + shape::block_keys - 1) / shape::block_keys; }
    };

    [[gnu::noinline]] void run_head(arena& memory, head_group head, block_range rows) const {
        index_t const at_once = visible_.blocks_at_once(head, rows);
        keys_type keys(call_, memory, at_once);
        keys.begin(head);
        room_type room(memory, at_once);
        auto& one = *new (memory.template take<tile>(1)) tile(memory, call_, {});
        for (index_t b = rows.first; b < rows.last; ++b) {
            index_t const first = b * shape::block_rows, last = std::min(first + shape::block_rows, call_.rows);
            auto const seen = visible_.seen_by(call_.span(head, first, last));
            for (index_t r = first; r < last; r += shape::rows) {
                prefetch_beside(head, r);
                one.begin(call_, head, r, std::min<index_t>(shape::rows, last - r), keys);
                finish(one, keys, room, score(memory.tiles, one, keys, room, seen));
            }
        }
    }

    /// S, for all keys that a row of the tile sees; pairs between runs are excluded.
    columns score(tile_count& counts, tile const& rows, keys_type& keys, room_type& room, block_range seen) const {
        columns at{keys.first(seen.first), 0, 0};
        auto const extend = [&](index_t from, index_t to) {
            if (at.to == 0) at.from = from;
            for (index_t r = 0; r < rows.rows() && at.to > 0 && at.to < from; ++r)
                std::fill(room.scores + r * room.stride + at.to, room.scores + r * room.stride + from, excluded<T>);
            at.to = to;
        };
        for (index_t k = seen.first; k < seen.last; ++k)
            visible_.for_runs(rows, keys.first(k), keys.last(k), truth{}, [&](pack_run<shape> run, bool const* mixed) {
                count_panels(counts, run, mixed);
                keys.prepare(k);
                index_t const column = keys.first(k) - at.first_key;
                extend(column + run.first * shape::lanes, column + run.last * shape::lanes);
                rows.score(call_, keys, {k, run, mixed}, room, column);
            });
        return at;
    }

    /// P of whole rows, what shows them, and P V.
    void finish(tile& rows, keys_type& keys, room_type& room, columns const& at) const {
        bool nonfinite = !Call::adds;
        for (index_t k = at.first_block(); k < at.last_block() && !Call::selects; ++k)
            nonfinite = nonfinite || !keys.finite(k);
        // Nothing that a normalizer or a reweighting makes of a row, NaN among it, is a weight of a pair without part.
        constexpr bool shows_weights = operands::looks_at_rows || recipe::reweights_rows;
        if (nonfinite || shows_weights) rows.mark_visible(room, at.from, at.to);
        for (index_t r = 0; r < rows.rows(); ++r) normalize<shows_weights>(rows, r, room, at);
        for (index_t k = at.first_block(); k < at.last_block() && !Call::selects; ++k)
            if (!visible_.coverage(rows.span(call_), keys.first(k), keys.last(k)).never())
                add_values(rows, keys, k, room, at, nonfinite);
        for (index_t r = 0; r < rows.rows(); ++r)
            tile::finish_row(call_, rows.facts(r), rows.state_of(r), rows.sum(r, keys), [] { return T{1}; });
    }

    template <bool ShowsWeights>
    void normalize(tile& rows, index_t r, room_type& room, columns const& at) const {
        auto const& facts = rows.facts(r);
        index_t const width = at.to - at.from;
        typename tile::row_type const row{
            room.scores + r * room.stride + at.from, width / shape::lanes, {at.first_key + at.from}};
        show_scores(call_.operands.outputs, facts, row);
        normalizing::whole(call_.normalizer(facts), rows.state_of(r), row);
        if constexpr (recipe::reweights) kernel::reweigh<!recipe::reweights_rows>(call_.recipe.reweight, facts, row);
        for (index_t i = 0; i < width && ShowsWeights; ++i)
            if (!room.visible[r * room.stride + at.from + i]) row[i] = T{0};
        show_weights(call_.operands.outputs, facts, row);
    }

    /// O += P V for one block of keys.
    void add_values(tile& rows, keys_type& keys, index_t k, room_type& room, columns const& at, bool nonfinite) const {
        keys.prepare(k);
        index_t const first = std::max(keys.first(k), at.first_key + at.from),
                      last = std::min(keys.last(k), at.first_key + at.to), column = first - at.first_key;
        auto const sums = rows.sums(call_, keys);
        weight_tile<T> const weights{room.scores + column,  room.stride, rows.rows(), rows.step(), k,
                                     first - keys.first(k), last - first};
        std::fill_n(room.rescale, shape::rows, T{1});
        if (nonfinite) return sums.add_visible(weights, room.visible + column, room.rescale);
        if constexpr (normalizing::whole_row && Call::adds)
            if (sums.add_present(weights)) return;
        sums.add(weights, room.rescale);
    }

    /// The tile that follows, and the results of this one.
    FOVEA_INLINE void prefetch_beside(head_group head, index_t first) const {
        row_place const next =
            row_after({head.batch, head.head, std::min(first + shape::rows, call_.rows)}, call_.rows, call_.heads);
        driver::prefetch_beside(call_.operands, call_.group, {head.batch, head.head, first}, next, shape::rows);
    }

    dense_context<Call> const& call_;
    visible_runs<Call, shape> visible_;
};

}  // namespace fovea::FOVEA_SET::driver
