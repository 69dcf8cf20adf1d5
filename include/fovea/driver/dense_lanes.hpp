// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/ask_ahead.hpp>
#include <fovea/driver/lane_tile.hpp>
#include <fovea/driver/visible_runs.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/kernel/prepare.hpp>

#include <algorithm>

namespace fovea::driver {

/// The dense traversal with a query in each lane, for scores that are one product and what is computed of it.
///
/// What reads a table by query and key goes along the keys in memory and stays with the other traversal, and so does
/// what looks at a row of scores as a whole, or at operands in another type than is computed in.
template <class T, class Arch, class Recipe, class Operands>
class dense_lanes {
    using rows_type = lane_tile<T, Arch, Recipe, Operands>;
    using tile = typename rows_type::tile;
    using pack_run = driver::pack_run<tile>;
    using predicate = std::remove_const_t<decltype(Recipe::predicate)>;
    using visible = visible_runs<predicate, rows_type, Operands>;
    static constexpr index_t tiles_per_block = tile::block_rows / tile::rows;
    static constexpr bool rescores = !plan::is_bare_product<decltype(Recipe::score.pointwise)>;

public:
    /// Queries that fill no vector share it with those of the other heads that have the same keys.
    dense_lanes(Recipe const& recipe, Operands const& operands)
        : recipe_(recipe),
          operands_(operands),
          visible_(recipe.predicate, operands),
          group_(tile::suits(operands.queries()) ? 1 : operands.group()) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        index_t const blocks = (rows() + tile::block_rows - 1) / tile::block_rows;
        index_t const parts = shares(executor.workers(), operands_.batches() * heads(), blocks);
        executor.run(operands_.batches() * heads() * parts, [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const all = operands_.batches() * heads(), head = task % all;
            index_t const part = parts - 1 - task / all;  // under a causal mask the last rows are longest
            run_head(memory, head / heads(), head % heads(), part * blocks / parts, (part + 1) * blocks / parts);
        });
    }

private:
    index_t rows() const { return operands_.queries() * group_; }
    index_t heads() const { return operands_.query.extent(1) / group_; }
    index_t key_head(index_t head) const { return head * group_ / operands_.group(); }

    void run_head(arena& memory, index_t batch, index_t head, index_t first_block, index_t last_block) const {
        index_t const width = std::min(round_up(rows(), tile::lanes), tile::rows);
        room here{memory.template take<T>(tile::block_keys * width),
                  memory.template take<bool>(tile::block_keys * width),
                  memory.template take<signed char>(key_blocks())};
        std::fill_n(here.finite, key_blocks(), static_cast<signed char>(-1));
        auto* const tiles = memory.template take<rows_type>(tiles_per_block);
        for (index_t t = 0; t < std::min(tiles_per_block, (rows() + tile::rows - 1) / tile::rows); ++t)
            new (tiles + t) rows_type(memory, operands_);
        for (index_t b = first_block; b < last_block; ++b) {
            index_t const first = b * tile::block_rows, last = std::min(first + tile::block_rows, rows());
            index_t count = 0;
            for (index_t r = first; r < last; r += tile::rows)
                tiles[count++].begin(recipe_, operands_, group_, {batch, head, r}, std::min(tile::rows, last - r));
            box all = tiles[0].span(operands_);
            all.q_idx = {first / group_, (last - 1) / group_};
            all.head = {head * group_, head * group_ + group_ - 1};
            row_place const next = row_after({batch, head, last}, rows(), heads());
            bool begun = false;
            for (index_t k = 0; k < key_blocks(); ++k) {
                auto const seen = visible_.coverage(all, first_key(k), last_key(k));
                if (seen.never()) continue;
                if (k + 1 < key_blocks() && (b == first_block || !stays_near())) {
                    here.keys = lines(operands_.key, {batch, key_head(head), k + 1});
                    here.values = lines(operands_.value, {batch, key_head(head), k + 1});
                }
                for (index_t t = 0; t < count; ++t) {
                    if (!begun && rows() > tile::block_rows) ask_beside({batch, head, first}, next, t);
                    visible_.for_runs(tiles[t], first_key(k), last_key(k), seen, [&](pack_run run, bool const* mixed) {
                        step(memory, here, tiles[t], {batch, key_head(head), k}, run, mixed);
                    });
                }
                begun = true;
            }
            for (index_t t = 0; t < count; ++t) tiles[t].finish(recipe_, operands_);
        }
    }

    /// While a tile is worked on, the results it will write come nearer, and the queries of the same tile of the next
    /// block.
    FOVEA_INLINE void ask_beside(row_place now, row_place next, index_t t) const {
        now.query += t * tile::rows;
        next.query += t * tile::rows;
        ask_for<true>(operands_.result, group_, now, rows(), tile::rows);
        if (next.batch < operands_.batches()) ask_for<false>(operands_.query, group_, next, rows(), tile::rows);
    }

    /// What a task works with.
    struct room {
        T* scores;                              // (keys of a block, width)
        bool* visible;                          // the same: which pairs take part, where values are not finite
        signed char* finite;                    // of the values of each block: -1 unknown
        kernel::coming_lines keys{}, values{};  // of the next block
    };

    /// Some keys of one head.
    struct key_block {
        index_t batch, head, block;
    };

    /// Keys and values that the second cache keeps from one block of rows to the next.
    bool stays_near() const {
        constexpr index_t kept = 1 << 18;
        return operands_.keys() * (operands_.features() + operands_.value_features()) * static_cast<index_t>(sizeof(T))
            <= kept;
    }

    kernel::coming_lines lines(view<T const, 4> const& rows, key_block const& at) const {
        constexpr auto bytes = static_cast<index_t>(sizeof(T));
        return {rows.place(at.batch, at.head, first_key(at.block), 0), last_key(at.block) - first_key(at.block),
                rows.extent(3) * bytes, rows.stride(2) * bytes};
    }

    /// The parts of a run that the same vectors of queries see some of.
    struct seen_parts {
        struct part {
            lane_run lanes;
            pack_run packs;
        };
        part parts[2 * tile::most_vectors];
        index_t count = 0;
    };

    seen_parts look_at(rows_type const& rows, index_t block, pack_run run, bool const* mixed, bool trims) const {
        seen_parts seen;
        index_t const n = rows.vectors();
        if (!trims || n == 1) {
            seen.parts[seen.count++] = {{0, n}, run};
            return seen;
        }
        pack_run of[tile::most_vectors];
        for (index_t v = 0; v < n; ++v)
            of[v] = visible_.trimmed({rows.span({v, v + 1}), first_key(block), last_key(block)}, run, mixed);
        for (index_t v = 1; v + 1 < n; ++v) {  // vectors that see a pack are neighbours
            auto const &before = of[v - 1], &after = of[v + 1];
            of[v] = {std::min(of[v].first, std::max(before.first, after.first)),
                     std::max(of[v].last, std::min(before.last, after.last))};
        }
        for (index_t from = run.first; from < run.last;) {
            lane_run lanes{n, 0};
            index_t to = run.last;  // the next place where a vector begins or ends
            for (index_t v = 0; v < n; ++v) {
                auto const& own = of[v];
                if (own.first <= from && from < own.last) lanes = {std::min(lanes.first, v), v + 1};
                for (index_t const end : {own.first, own.last})
                    if (from < end) to = std::min(to, end);
            }
            if (lanes.first < lanes.last) seen.parts[seen.count++] = {lanes, {from, to}};
            from = to;
        }
        return seen;
    }

    /// One run of keys: its scores, their weights, the values.
    void step(arena& memory, room& here, rows_type& rows, key_block const& at, pack_run run, bool const* mixed) const {
        index_t const block = at.block;
        bool masked = false;
        for (index_t p = run.first_panel(); p < run.last_panel(); ++p) {
            ++(mixed[p] ? memory.tiles.mixed : memory.tiles.full);
            masked = masked || mixed[p];
        }
        bool const careful = (masked || rescores) && !finite(here.finite[block], at);
        auto const seen = look_at(rows, block, run, mixed, masked && !careful);
        auto const keys = [&](pack_run packs) {
            return std::pair(packs.first * tile::pack,
                             std::min(packs.last * tile::pack, last_key(block) - first_key(block)));
        };
        auto const scores = [&](index_t key) { return here.scores + key * rows.width(); };
        for (index_t i = 0; i < seen.count; ++i) {
            auto const [first, last] = keys(seen.parts[i].packs);
            rows.compare(operands_, seen.parts[i].lanes, first_key(block) + first, last - first, scores(first),
                         here.keys);
        }
        for_spans(run, mixed, [&](index_t pack, index_t packs, bool hides) {
            auto const [first, last] = keys({pack, pack + packs});
            if (hides) rows.template transform<true>(recipe_, first_key(block) + first, last - first, scores(first));
            else rows.template transform<false>(recipe_, first_key(block) + first, last - first, scores(first));
        });
        auto const [run_first, run_last] = keys(run);
        if (careful)
            for (index_t i = run_first * rows.width(); i < run_last * rows.width(); ++i)
                here.visible[i] = here.scores[i] != excluded<T>;
        alignas(64) T rescale[tile::rows];
        rows.fold(recipe_, run_last - run_first, scores(run_first), rescale);
        if (careful)
            return rows.add_visible(operands_, first_key(block) + run_first, run_last - run_first, scores(run_first),
                                    here.visible + run_first * rows.width(), rescale);
        for (index_t i = 0; i < seen.count; ++i) {
            auto const& [lanes, packs] = seen.parts[i];
            auto const [first, last] = keys(packs);
            rows.add(operands_, lanes, first_key(block) + first, last - first, scores(first), rescale, here.values);
            if (i + 1 < seen.count)
                std::fill(rescale + lanes.first * tile::lanes, rescale + lanes.last * tile::lanes, T{1});
        }
    }

    /// True where all values of a block are finite: then 0 times a value is 0.
    bool finite(signed char& known, key_block const& at) const {
        if (known < 0) {
            known = 1;
            for (index_t k = first_key(at.block); k < last_key(at.block) && known == 1; ++k)
                known = kernel::all_finite<T, Arch>(operands_.value.place(at.batch, at.head, k, 0),
                                                    operands_.value_features());
        }
        return known == 1;
    }

    index_t key_blocks() const { return (operands_.keys() + tile::block_keys - 1) / tile::block_keys; }
    static index_t first_key(index_t block) { return block * tile::block_keys; }
    index_t last_key(index_t block) const { return std::min(first_key(block + 1), operands_.keys()); }

    Recipe const& recipe_;
    Operands const& operands_;
    visible visible_;
    index_t group_;  // heads whose queries are rows of one tile
};

}  // namespace fovea::driver
