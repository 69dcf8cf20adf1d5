// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/executor.hpp>
#include <fovea/driver/row_tile.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/accumulate.hpp>
#include <fovea/kernel/reweigh.hpp>
#include <fovea/plan/normalizing.hpp>

namespace fovea::driver {

/// The dense traversal: blocks of queries against blocks of keys.
///
/// Empty blocks are skipped, full ones are not masked; mixed ones are looked at tile by tile and panel by panel.
/// Streaming normalizers fold a tile at a time; where weights are asked for, or the normalizer needs whole rows,
/// the scores of a few rows over all keys are kept (a strip).
template <class T, class Arch, class Recipe, class Operands>
class dense_loop {
    using parts = decltype(Recipe::score.parts);
    using tile = plan::tile<T, Arch>;
    using packed = packed_keys<T, Arch, parts, Operands>;
    using rows_type = row_tile<T, Arch, parts, Operands>;
    using normalizing = plan::normalizing<std::remove_const_t<decltype(Recipe::normalize)>, T>;
    using row_type = kernel::packed_row<T, Arch, typename normalizing::of_row>;
    using state = typename normalizing::state;
    static constexpr index_t planes = std::max<index_t>(packed::products + packed::pairs, 1);
    static constexpr index_t tiles_per_block = tile::block_rows / tile::rows;
    using aggregator_type = std::remove_const_t<decltype(Recipe::aggregate)>;
    static constexpr bool adds = linear_aggregator<aggregator_type>;
    static constexpr bool selects = normalizing::selects && !Recipe::reweights && adds;
    static constexpr bool strips = normalizing::whole_row || Recipe::reweights_rows || Operands::looks_at_rows ||
                                   (normalizing::selects && !selects);

public:
    dense_loop(Recipe const& recipe, Operands const& operands) : recipe_(recipe), operands_(operands) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const row_blocks = (operands_.rows() + tile::block_rows - 1) / tile::block_rows;
        index_t const heads = operands_.batches() * operands_.key_heads();
        index_t const wanted = executor.workers() == 1 || Operands::adds_up ? 1 : 8 * executor.workers();
        index_t const parts_per_head = std::clamp<index_t>((wanted + heads - 1) / std::max<index_t>(heads, 1), 1,
                                                           std::max<index_t>(row_blocks, 1));
        executor.run(heads * parts_per_head, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const head = task / parts_per_head;
            index_t const part = parts_per_head - 1 - task % parts_per_head;  // under a causal mask the last rows are longest
            run_head(memory, head / operands_.key_heads(), head % operands_.key_heads(), part * row_blocks / parts_per_head,
                     (part + 1) * row_blocks / parts_per_head);
        });
    }

private:
    /// The rows of one block and all that is carried for them from one block of keys to the next.
    struct row_block {
        rows_type* tiles;  // (tiles)
        index_t count;     // tiles in use
        T* sums;           // (block_rows, value_width)
        state* states;     // (block_rows)
        T* scores;         // (planes, rows, stride)
        bool* visible;     // (rows, stride) which pairs take part, where values are not finite
        index_t stride;
    };

    void run_head(arena& memory, index_t batch, index_t key_head, index_t first_block, index_t last_block) const {
        packed keys(operands_, recipe_.score.parts, memory, last_block - first_block > 1);
        keys.begin(batch, key_head);
        row_block block;
        block.stride = (strips ? std::max<index_t>(keys.blocks(), 1) * tile::block_keys : tile::block_keys) + tile::lanes;
        block.tiles = memory.take<rows_type>(tiles_per_block);
        block.sums = memory.take<T>(tile::block_rows * keys.value_width());
        block.states = memory.take<state>(tile::block_rows);
        block.scores = memory.take<T>(planes * tile::rows * block.stride);
        block.visible = memory.take<bool>(tile::rows * block.stride);
        for (index_t t = 0; t < tiles_per_block; ++t) {
            auto* const place = new (block.tiles + t) rows_type;
            place->products = memory.take<T>(rows_type::room(operands_.features()));
            place->queries = memory.take<T>(rows_type::query_room(operands_.features()));
        }
        for (index_t b = first_block; b < last_block; ++b) {
            begin_rows(block, batch, key_head, b * tile::block_rows, keys.value_width());
            if constexpr (strips) run_strips(memory, block, keys);
            else run_blocks(memory, block, keys);
        }
    }

    void begin_rows(row_block& block, index_t batch, index_t key_head, index_t first, index_t value_width) const {
        index_t const last = std::min(first + tile::block_rows, operands_.rows());
        block.count = 0;
        for (index_t r = first; r < last; r += tile::rows)
            block.tiles[block.count++].prepare(operands_, recipe_.score.parts, batch, key_head, r,
                                               std::min<index_t>(tile::rows, last - r));
        std::fill_n(block.sums, tile::block_rows * value_width, start_of<aggregator_type, T>);
        std::uninitialized_fill_n(block.states, tile::block_rows, state{});
    }

    decltype(auto) normalizer(kernel::row_facts const& row) const {
        return normalizer_of_row(recipe_.normalize, facts_of_row<T, Arch>{row});
    }

    // --- which pairs ---

    truth coverage(rows_type const& rows, index_t first_key, index_t last_key) const {
        return bound(recipe_.predicate, rows.span(operands_, first_key, last_key));
    }

    truth coverage(row_block const& block, index_t first_key, index_t last_key) const {
        auto where = block.tiles[0].span(operands_, first_key, last_key);
        auto const& last = block.tiles[block.count - 1];
        where.q_idx.hi = last.facts[last.rows - 1].q_idx;
        where.head = {where.head.lo / operands_.group() * operands_.group(),
                      where.head.lo / operands_.group() * operands_.group() + operands_.group() - 1};
        return bound(recipe_.predicate, where);
    }

    /// Calls f(first panel, last panel, mixed flags) for each run of panels of a block that are not empty for a tile.
    template <class F>
    void for_runs(rows_type const& rows, packed const& keys, index_t k, truth seen, F f) const {
        index_t const first = keys.first(k), last = keys.last(k);
        index_t const panels = (last - first + tile::panel - 1) / tile::panel;
        bool mixed[tile::panels] = {};
        bool const whole = (last - first) % tile::panel == 0;
        mixed[panels - 1] = !whole;
        if (!seen.always()) seen = coverage(rows, first, last);
        if (seen.never()) return;
        if (seen.always()) return f(index_t{0}, panels, mixed);
        bool empty[tile::panels] = {};
        for (index_t p = 0; p < panels; ++p) {
            index_t const from = first + p * tile::panel;
            auto const part = coverage(rows, from, std::min(from + tile::panel, last));
            empty[p] = part.never();
            mixed[p] = mixed[p] || !part.always();
        }
        for (index_t p = 0; p < panels;) {
            index_t const begin = p;
            while (p < panels && !empty[p]) ++p;
            if (p > begin) f(begin, p, mixed);
            else ++p;
        }
    }

    static void count(arena& memory, index_t first, index_t last, bool const* mixed) {
        for (index_t p = first; p < last; ++p) ++(mixed[p] ? memory.tiles.mixed : memory.tiles.full);
    }

    // --- streaming: one tile of keys at a time ---

    void run_blocks(arena& memory, row_block& block, packed& keys) const {
        for (index_t k = 0; k < keys.blocks(); ++k) {
            auto const seen = coverage(block, keys.first(k), keys.last(k));
            if (seen.never()) continue;
            keys.prepare(k);
            for (index_t t = 0; t < block.count; ++t)
                for_runs(block.tiles[t], keys, k, seen, [&](index_t first, index_t last, bool const* mixed) {
                    count(memory, first, last, mixed);
                    block.tiles[t].score(recipe_.score, recipe_.predicate, keys, k, first, last, mixed, block.scores,
                                         block.stride, tile::rows * block.stride);
                    step(block, t, keys, k, first, last, has_excluded(first, last, mixed));
                });
        }
        for (index_t t = 0; t < block.count; ++t) finish_tile(block, t, keys);
    }

    static bool has_excluded(index_t first, index_t last, bool const* mixed) {
        return !plan::is_bare_product<decltype(Recipe::score.pointwise)> ||
               std::any_of(mixed + first, mixed + last, [](bool m) { return m; });
    }

    /// One tile: fold its scores into the states of its rows, then meet its weights with the values.
    void step(row_block& block, index_t t, packed& keys, index_t k, index_t first, index_t last, bool excluding) const {
        auto const& rows = block.tiles[t];
        index_t const column = first * tile::panel;
        index_t const count = std::min(last * tile::panel, keys.last(k) - keys.first(k)) - column;
        bool const careful = excluding && !selects && (!adds || !keys.finite(k));
        if (careful) note_visible(block, rows.rows, column, count);
        T rescale[tile::rows] = {};
        for (index_t r = 0; r < rows.rows; ++r) {
            row_type const row{block.scores + r * block.stride + column, (last - first) * tile::vectors,
                               {keys.first(k) + column}};
            rescale[r] = normalizing::fold(normalizer(rows.facts[r]), block.states[t * tile::rows + r], row);
            if constexpr (Recipe::reweights) kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, rows.facts[r], row);
        }
        if constexpr (!selects) {
            T* const sums = block.sums + t * tile::rows * keys.value_width();
            if constexpr (!adds) forget_unweighted(sums, rows.rows, keys.value_width(), rescale);
            T const* const values = keys.values(k) + column * keys.value_stride();
            if (careful) accumulate_visible(block, rows.rows, column, count, values, keys, sums, rescale);
            else accumulate(block.scores + column, block.stride, rows, count, values, keys, sums, rescale);
        }
    }

    void accumulate(T const* weights, index_t stride, rows_type const& rows, index_t count, T const* values,
                    packed const& keys, T* sums, T const* rescale) const {
        with_rows<tile>(rows.step, [&](auto n) {
            index_t c = 0;
            index_t const width = keys.value_width();
            constexpr int wide = tile::value_vectors(n());
            for (; c + wide * tile::lanes <= width; c += wide * tile::lanes)
                kernel::accumulate<n(), wide, T, Arch>(recipe_.aggregate, weights, stride, count, values + c,
                                                       keys.value_stride(), sums + c, width, rescale);
            for (; c + tile::panel <= width; c += tile::panel)
                kernel::accumulate<n(), tile::vectors, T, Arch>(recipe_.aggregate, weights, stride, count, values + c,
                                                                keys.value_stride(), sums + c, width, rescale);
            for (; c < width; c += tile::lanes)
                kernel::accumulate<n(), 1, T, Arch>(recipe_.aggregate, weights, stride, count, values + c,
                                                    keys.value_stride(), sums + c, width, rescale);
        });
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

    void note_visible(row_block const& block, index_t rows, index_t column, index_t count) const {
        for (index_t r = 0; r < rows; ++r)
            for (index_t i = r * block.stride + column; i < r * block.stride + column + count; ++i)
                block.visible[i] = block.scores[i] != excluded<T>;
    }

    void accumulate_visible(row_block const& block, index_t rows, index_t column, index_t count, T const* values,
                            packed const& keys, T* sums, T const* rescale) const {
        for (index_t r = 0; r < rows; ++r) {
            T* const sum = sums + r * keys.value_width();
            for (index_t c = 0; c < keys.value_width(); ++c) sum[c] *= rescale[r];
            for (index_t j = 0; j < count; ++j) {
                index_t const pair = r * block.stride + column + j;
                if (!block.visible[pair]) continue;
                for (index_t c = 0; c < keys.value_width(); ++c)
                    sum[c] = recipe_.aggregate.step(sum[c], block.scores[pair], values[j * keys.value_stride() + c]);
            }
        }
    }

    // --- strips: all scores of a few rows ---

    void run_strips(arena& memory, row_block& block, packed& keys) const {
        for (index_t t = 0; t < block.count; ++t) {
            auto const& rows = block.tiles[t];
            index_t const width = keys.blocks() * tile::block_keys;
            for (index_t r = 0; r < rows.rows; ++r)
                std::fill_n(block.scores + r * block.stride, width, excluded<T>);
            for (index_t k = 0; k < keys.blocks(); ++k)
                for_runs(rows, keys, k, truth{}, [&](index_t first, index_t last, bool const* mixed) {
                    count(memory, first, last, mixed);
                    keys.prepare(k);
                    rows.score(recipe_.score, recipe_.predicate, keys, k, first, last, mixed,
                               block.scores + k * tile::block_keys, block.stride, tile::rows * block.stride);
                });
            finish_strip(block, t, keys, width);
        }
    }

    void finish_strip(row_block& block, index_t t, packed& keys, index_t width) const {
        auto const& rows = block.tiles[t];
        bool careful = !adds;
        for (index_t k = 0; k < keys.blocks() && !selects; ++k) careful = careful || !keys.finite(k);
        if (careful || Recipe::reweights_rows) note_visible(block, rows.rows, 0, width);
        T one[tile::rows];
        std::fill_n(one, tile::rows, T{1});
        for (index_t r = 0; r < rows.rows; ++r) {
            auto& s = block.states[t * tile::rows + r];
            row_type const row{block.scores + r * block.stride, width / tile::lanes, {0}};
            show_scores(operands_.outputs, rows.facts[r], row);
            normalizing::whole(normalizer(rows.facts[r]), s, row);
            if constexpr (Recipe::reweights) kernel::reweigh<!Recipe::reweights_rows>(recipe_.reweight, rows.facts[r], row);
            for (index_t i = 0; i < width && Recipe::reweights_rows; ++i)
                if (!block.visible[r * block.stride + i]) row[i] = T{0};
            show_weights(operands_.outputs, rows.facts[r], row);
        }
        T* const sums = block.sums + t * tile::rows * keys.value_width();
        for (index_t k = 0; k < keys.blocks() && !selects; ++k) {
            keys.prepare(k);
            index_t const column = k * tile::block_keys, n = keys.last(k) - column;
            if (careful) accumulate_visible(block, rows.rows, column, n, keys.values(k), keys, sums, one);
            else accumulate(block.scores + column, block.stride, rows, n, keys.values(k), keys, sums, one);
        }
        finish_tile(block, t, keys, true);
    }

    // --- results ---

    void finish_tile(row_block& block, index_t t, packed const& keys, bool normalized = false) const {
        using out = std::remove_cvref_t<decltype(operands_.result(0, 0, 0, 0))>;
        auto const& rows = block.tiles[t];
        for (index_t r = 0; r < rows.rows; ++r) {
            auto const& row = rows.facts[r];
            auto const& s = block.states[t * tile::rows + r];
            T const* const sum = block.sums + (t * tile::rows + r) * keys.value_width();
            auto* const to = operands_.result.place(row.batch, row.head, row.q_idx, 0);
            index_t const n = operands_.value_features();
            if constexpr (selects) {
                index_t const key = normalizer(row).selected(s);
                auto const* from = key < 0 ? nullptr : operands_.value.place(row.batch, row.head / operands_.group(), key, 0);
                for (index_t c = 0; c < n; ++c) to[c] = from ? static_cast<out>(from[c]) : out{0};
            } else {
                T const factor = normalized ? T{1} : normalizing::finish(normalizer(row), s);
                for (index_t c = 0; c < n; ++c) to[c] = static_cast<out>(aggregated<aggregator_type>(sum[c], factor));
            }
            show_log_sum(operands_.outputs, row, normalizing::log_sum(normalizer(row), s));
        }
    }

    Recipe const& recipe_;
    Operands const& operands_;
};

}  // namespace fovea::driver
