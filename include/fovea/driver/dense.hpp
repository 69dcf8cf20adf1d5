// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/executor.hpp>
#include <fovea/driver/key_parts.hpp>
#include <fovea/driver/prefetch.hpp>
#include <fovea/driver/row_tile.hpp>
#include <fovea/driver/value_sums.hpp>
#include <fovea/driver/visible_runs.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/reweigh.hpp>
#include <fovea/plan/traversal.hpp>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal: blocks of queries against blocks of keys.
///
/// Empty blocks are skipped, full ones are not masked; mixed ones are looked at tile by tile and panel by panel.
/// Streaming normalizers fold a tile at a time; where weights are asked for, or the normalizer needs whole rows,
/// the scores of a few rows are kept, from the first key that any of them sees to the last (a strip).
template <class T, class Arch, class Recipe, class Operands>
class dense_loop {
    using parts = decltype(Recipe::score.parts);
    using tile = plan::tile<T, Arch>;
    using aggregator_type = std::remove_const_t<decltype(Recipe::aggregate)>;
    using call = plan::dense_call<T, Arch, Recipe, Operands>;
    static constexpr bool adds = call::adds, selects = call::selects, strips = call::whole_rows;
    /// Weights are rounded to bfloat16 where values and results are stored so, and products of it are fast.
    static constexpr bool rounds_weights =
        adds
        && kernel::multiplies_stored<T, Arch, element_of_rows<decltype(Operands::value)>,
                                     std::remove_cvref_t<decltype(*Operands::result.data)>>;
    static constexpr packing layout{rounds_weights, call::may_take_query_lanes};
    using packed = packed_keys<T, Arch, parts, Operands, layout>;
    using rows_type = row_tile<T, Arch, parts, Operands, layout>;
    using pack_run = driver::pack_run<tile>;
    using visible = visible_runs<std::remove_const_t<decltype(Recipe::predicate)>, rows_type, Operands>;
    using normalizing = typename call::normalizing;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row>;
    using state = typename normalizing::state;
    static constexpr index_t planes = std::max<index_t>(packed::products + packed::pairs, 1);
    static constexpr index_t tiles_per_block = tile::block_rows / tile::rows;

public:
    dense_loop(Recipe const& recipe, Operands const& operands, plan::call_plan const& how)
        : recipe_(recipe), operands_(operands), how_(how), visible_(recipe.predicate, operands) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const row_blocks = (operands_.rows() + tile::block_rows - 1) / tile::block_rows;
        index_t const heads = operands_.batches() * operands_.key_heads();
        index_t const parts_per_head = shares(Operands::adds_up ? 1 : executor.workers(), heads, row_blocks);
        if constexpr (call::may_split_keys)
            if (how_.by == plan::traversal::split_keys) return run_key_parts(executor, scratch, heads);
        executor.run(heads * parts_per_head, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const head = task % heads;
            index_t const part = parts_per_head - 1 - task / heads;  // under a causal mask the last rows are longest
            run_head(memory, head / operands_.key_heads(), head % operands_.key_heads(),
                     part * row_blocks / parts_per_head, (part + 1) * row_blocks / parts_per_head,
                     {0, keys_in_blocks()});
        });
    }

private:
    /// Some blocks of keys. Where they are not all, what the rows come to is left in a place of its own.
    struct key_range {
        index_t first, last;
        T* sums = nullptr;
        state* states = nullptr;
    };

    /// Few rows: each part of the keys by itself, and then all parts together.
    template <class Executor>
    void run_key_parts(Executor const& executor, workspace& scratch, index_t heads) const {
        auto const& ranges = how_.parts;
        index_t const rows = round_up(operands_.rows(), tile::rows), width = packed::value_width(operands_);
        partial_rows<T, Arch, normalizing> const partial(scratch.shared(), heads, ranges.count(), rows, width);
        executor.run(heads * ranges.count(), [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const head = task / ranges.count(), part = task % ranges.count();
            run_head(memory, head / operands_.key_heads(), head % operands_.key_heads(), 0, 1,
                     {ranges.first(part), ranges.last(part), partial.sums(head, part), partial.states(head, part)});
        });
        executor.run(heads, [&](index_t head, index_t) {
            index_t const group = operands_.group(), first_head = head % operands_.key_heads() * group;
            for (index_t r = 0; r < operands_.rows(); ++r) {
                kernel::row_facts const row{head / operands_.key_heads(), first_head + r % group, r / group,
                                            operands_.queries(),          operands_.keys(),       operands_.features()};
                partial.join(normalizer(row), head, r);
                finish_row(row, partial.states(head, 0)[r], partial.sums(head, 0) + r * width, false);
            }
        });
    }

    /// The rows of one block and all that is carried for them from one block of keys to the next.
    struct row_block {
        rows_type* tiles;  // (tiles)
        index_t count;     // tiles in use
        T* sums;           // (block_rows, value_width)
        state* states;     // (block_rows)
        T* scores;         // (planes, rows, stride)
        bool* visible;     // (rows, stride) which pairs take part, where values are not finite
        index_t stride;
        row_place next;  // (batch, key head, row) of what follows
        key_range range;
    };

    [[gnu::noinline]] void run_head(arena& memory, index_t batch, index_t key_head, index_t first_block,
                                    index_t last_block, key_range const& range) const {
        bool const revisits = strips || last_block - first_block > 1;  // a block of keys, for further rows
        index_t const at_once = revisits ? visible_.blocks_at_once(batch, key_head, first_block, last_block) : 1;
        packed keys(operands_, recipe_.score.parts, memory, at_once, how_.packs_keys);
        keys.begin(batch, key_head);
        row_block block;
        block.stride = (strips ? at_once : 1) * tile::block_keys + tile::lanes;
        index_t const tiles = std::min(tiles_per_block, (operands_.rows() + tile::rows - 1) / tile::rows);
        block.tiles = memory.take<rows_type>(tiles);
        block.range = range;
        block.sums = range.sums ? range.sums : memory.take<T>(tiles * tile::rows * keys.value_width());
        block.states = range.states ? range.states : memory.take<state>(tiles * tile::rows);
        block.scores = memory.take<T>(planes * tile::rows * block.stride);
        block.visible = memory.take<bool>(tile::rows * block.stride);
        for (index_t t = 0; t < tiles; ++t) {
            auto* const place = new (block.tiles + t) rows_type;
            place->products.take(memory, operands_.features());
            place->queries = memory.take<T>(rows_type::query_room(operands_.features()));
        }
        for (index_t b = first_block; b < last_block; ++b) {
            begin_rows(block, batch, key_head, b * tile::block_rows, keys);
            if constexpr (strips) run_strips(memory, block, keys);
            else run_blocks(memory, block, keys);
        }
    }

    index_t keys_in_blocks() const { return (operands_.keys() + tile::block_keys - 1) / tile::block_keys; }

    /// The same tile of the next block follows.
    FOVEA_INLINE void prefetch_beside(row_block const& block, index_t t) const {
        auto const& rows = block.tiles[t];
        row_place now{rows.facts[0].batch, rows.facts[0].head / operands_.group(), rows.first_row}, next = block.next;
        next.query += t * tile::rows;
        driver::prefetch_beside(operands_, operands_.group(), now, next, tile::rows);
    }

    void begin_rows(row_block& block, index_t batch, index_t key_head, index_t first, packed const& keys) const {
        index_t const last = std::min(first + tile::block_rows, operands_.rows());
        block.count = 0;
        block.next = row_after({batch, key_head, last}, operands_.rows(), operands_.key_heads());
        for (index_t r = first; r < last; r += tile::rows)
            block.tiles[block.count++].prepare(operands_, recipe_.score.parts, batch, key_head, r,
                                               std::min<index_t>(tile::rows, last - r), keys.in_place());
        std::fill_n(block.sums, block.count * tile::rows * keys.value_width(), start_of<aggregator_type, T>);
        std::uninitialized_fill_n(block.states, block.count * tile::rows, state{});
    }

    decltype(auto) normalizer(kernel::row_facts const& row) const {
        return normalizer_of_row(recipe_.normalize, facts_of_row<T, Arch>{row});
    }

    /// What the rows of a block span.
    box where_is(row_block const& block) const {
        auto const& last = block.tiles[block.count - 1];
        return rows_type::span(operands_, last.facts[0].batch, last.facts[0].head / operands_.group(),
                               block.tiles[0].first_row, last.first_row + last.rows);
    }

    // --- streaming: one tile of keys at a time ---

    void run_blocks(arena& memory, row_block& block, packed& keys) const {
        auto const where = where_is(block);
        bool first = true;
        for (index_t k = block.range.first; k < block.range.last; ++k) {
            auto const seen = visible_.coverage(where, keys.first(k), keys.last(k));
            if (seen.never()) continue;
            keys.prepare(k);
            for (index_t t = 0; t < block.count; ++t) {
                if (first) prefetch_beside(block, t);
                visible_.for_runs(block.tiles[t], keys.first(k), keys.last(k), seen,
                                  [&](pack_run run, bool const* mixed) {
                                      count_panels(memory.tiles, run, mixed);
                                      block.tiles[t].score(recipe_.score, recipe_.predicate, keys, k, run, mixed,
                                                           block.scores, block.stride, tile::rows * block.stride);
                                      step(block, t, keys, k, run, has_excluded(run, mixed));
                                  });
            }
            first = false;
        }
        for (index_t t = 0; t < block.count && !block.range.sums; ++t) finish_tile(block, t, keys);
    }

    /// Whether scores may have been excluded; a product alone may be -inf by itself.
    static bool has_excluded(pack_run run, bool const* mixed) {
        return !plan::is_bare_product<decltype(Recipe::score.pointwise)> || any_mixed(run, mixed);
    }

    /// One tile: fold its scores into the states of its rows, then meet its weights with the values.
    void step(row_block& block, index_t t, packed& keys, index_t k, pack_run run, bool excluding) const {
        auto const& rows = block.tiles[t];
        index_t const column = run.first * tile::lanes;
        index_t const count = std::min(run.last * tile::lanes, keys.last(k) - keys.first(k)) - column;
        bool const careful = !selects && (excluding || any_excluded(block, rows.rows, column, run.last - run.first))
                          && (!adds || !keys.finite(k));
        if (careful) note_visible(block, rows.rows, column, count);
        T rescale[tile::rows] = {};
        for (index_t r = 0; r < rows.rows; ++r) {
            row_type const row{
                block.scores + r * block.stride + column, run.last - run.first, {keys.first(k) + column}};
            rescale[r] = normalizing::fold(normalizer(rows.facts[r]), block.states[t * tile::rows + r], row);
            if constexpr (Recipe::reweights)
                kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, rows.facts[r], row);
        }
        if constexpr (!selects) {
            T* const sums = block.sums + t * tile::rows * keys.value_width();
            if constexpr (!adds) forget_unweighted(sums, rows.rows, keys.value_width(), rescale);
            meet_values(block, rows, careful, column, keys, k, column, count, sums, rescale);
        }
    }

    /// The weights from a column on meet the values of a block from one of its keys on.
    void meet_values(row_block const& block, rows_type const& rows, bool careful, index_t column, packed const& keys,
                     index_t k, index_t key, index_t count, T* sums, T const* rescale) const {
        value_sums<T, Arch, packed, aggregator_type> const all(keys, recipe_.aggregate, sums);
        weight_tile<T> const weights{block.scores + column, block.stride, rows.rows, rows.step, k, key, count};
        if (careful) return all.add_visible(weights, block.visible + column, rescale);
        if constexpr (normalizing::whole_row && adds)
            if (all.add_present(weights)) return;
        all.add(weights, rescale);
    }

    /// Where all before has weight 0 beside what comes, a sum that is no sum begins anew.
    static void forget_unweighted(T* sums, index_t rows, index_t width, T* rescale) {
        for (index_t r = 0; r < rows; ++r)
            if (rescale[r] == T{0}) {
                std::fill_n(sums + r * width, width, start_of<aggregator_type, T>);
                rescale[r] = T{1};
            }
    }

    // --- values that are not finite: a pair that does not take part must not multiply them by 0 ---

    static bool any_excluded(row_block const& block, index_t rows, index_t column, index_t packs) {
        bool found = false;
        for (index_t r = 0; r < rows && !found; ++r)
            found = kernel::any_excluded<T, Arch>(block.scores + r * block.stride + column, packs);
        return found;
    }
    void note_visible(row_block const& block, index_t rows, index_t column, index_t count) const {
        for (index_t r = 0; r < rows; ++r)
            for (index_t i = r * block.stride + column; i < r * block.stride + column + count; ++i)
                block.visible[i] = block.scores[i] != excluded<T>;
    }

    // --- strips: all scores of a few rows, from the first key that they see to the last ---

    /// Where the scores of a strip are: columns of its rows, the first of which is a key.
    struct strip {
        index_t first_key;  // the first of a block
        index_t from, to;   // columns with scores: whole packs

        index_t first_block() const { return (first_key + from) / tile::block_keys; }
        index_t last_block() const { return (first_key + to + tile::block_keys - 1) / tile::block_keys; }
    };

    void run_strips(arena& memory, row_block& block, packed& keys) const {
        auto const all = visible_.seen_by(where_is(block));
        for (index_t t = 0; t < block.count; ++t) {
            auto const& rows = block.tiles[t];
            prefetch_beside(block, t);
            strip at{keys.first(all.first), 0, 0};
            auto const add_columns = [&](index_t from, index_t to) {  // pairs between runs are excluded
                if (at.to == 0) at.from = from;
                for (index_t r = 0; r < rows.rows && at.to > 0 && at.to < from; ++r)
                    std::fill(block.scores + r * block.stride + at.to, block.scores + r * block.stride + from,
                              excluded<T>);
                at.to = to;
            };
            for (index_t k = all.first; k < all.last; ++k)
                visible_.for_runs(rows, keys.first(k), keys.last(k), truth{}, [&](pack_run run, bool const* mixed) {
                    count_panels(memory.tiles, run, mixed);
                    keys.prepare(k);
                    index_t const column = keys.first(k) - at.first_key;
                    add_columns(column + run.first * tile::lanes, column + run.last * tile::lanes);
                    rows.score(recipe_.score, recipe_.predicate, keys, k, run, mixed, block.scores + column,
                               block.stride, tile::rows * block.stride);
                });
            finish_strip(block, t, keys, at);
        }
    }

    void finish_strip(row_block& block, index_t t, packed& keys, strip const& at) const {
        auto const& rows = block.tiles[t];
        index_t const width = at.to - at.from;
        bool careful = !adds;
        for (index_t k = at.first_block(); k < at.last_block() && !selects; ++k) careful = careful || !keys.finite(k);
        // Nothing that a normalizer or a reweighting makes of a row, NaN among it, is a weight of a pair without part.
        constexpr bool shows_weights = Operands::looks_at_rows || Recipe::reweights_rows;
        if (careful || shows_weights) note_visible(block, rows.rows, at.from, width);
        T one[tile::rows];
        std::fill_n(one, tile::rows, T{1});
        for (index_t r = 0; r < rows.rows; ++r) {
            auto& s = block.states[t * tile::rows + r];
            row_type const row{
                block.scores + r * block.stride + at.from, width / tile::lanes, {at.first_key + at.from}};
            show_scores(operands_.outputs, rows.facts[r], row);
            normalizing::whole(normalizer(rows.facts[r]), s, row);
            if constexpr (Recipe::reweights)
                kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, rows.facts[r], row);
            for (index_t i = 0; i < width && shows_weights; ++i)
                if (!block.visible[r * block.stride + at.from + i]) row[i] = T{0};
            show_weights(operands_.outputs, rows.facts[r], row);
        }
        T* const sums = block.sums + t * tile::rows * keys.value_width();
        for (index_t k = at.first_block(); k < at.last_block() && !selects; ++k) {
            auto const where = rows.span(operands_);
            if (visible_.coverage(where, keys.first(k), keys.last(k)).never()) continue;
            keys.prepare(k);
            index_t const first = std::max(keys.first(k), at.first_key + at.from),
                          last = std::min(keys.last(k), at.first_key + at.to);
            meet_values(block, rows, careful, first - at.first_key, keys, k, first - keys.first(k), last - first, sums,
                        one);
        }
        finish_tile(block, t, keys, true);
    }

    // --- results ---

    void finish_tile(row_block& block, index_t t, packed const& keys, bool normalized = false) const {
        auto const& rows = block.tiles[t];
        for (index_t r = 0; r < rows.rows; ++r)
            finish_row(rows.facts[r], block.states[t * tile::rows + r],
                       block.sums + (t * tile::rows + r) * keys.value_width(), normalized);
    }

    void finish_row(kernel::row_facts const& row, state const& s, T const* sum, bool normalized) const {
        using out = std::remove_cvref_t<decltype(operands_.result(0, 0, 0, 0))>;
        auto* const to = operands_.result.place(row.batch, row.head, row.q_idx, 0);
        index_t const n = operands_.value_features();
        if constexpr (selects) {
            index_t const key = normalizer(row).selected(s);
            auto const* from =
                key < 0 ? nullptr : operands_.value.place(row.batch, row.head / operands_.group(), key, 0);
            for (index_t c = 0; c < n; ++c) to[c] = from ? static_cast<out>(from[c]) : out{0};
        } else {
            T const factor = normalized ? T{1} : normalizing::finish(normalizer(row), s);
            if constexpr (adds)
                for (index_t c = 0; c < n; c += tile::lanes)
                    kernel::store_as<T, Arch>(kernel::pack<T, Arch>::load(sum + c) * factor, to + c, n - c);
            else
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator_type>(sum[c], factor));
        }
        show_log_sum(operands_.outputs, row, normalizing::log_sum(normalizer(row), s));
    }

    Recipe const& recipe_;
    Operands const& operands_;
    plan::call_plan const& how_;
    visible visible_;
};

}  // namespace fovea::FOVEA_SET::driver
