// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/key_terms.hpp>
#include <fovea/driver/lane_tile.hpp>
#include <fovea/driver/prefetch.hpp>
#include <fovea/driver/row_range.hpp>
#include <fovea/driver/visible_runs.hpp>
#include <fovea/driver/workspace.hpp>
#include <fovea/plan/traversal.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The dense traversal with a query in each lane, for calls that plan::dense_call says may take it.
template <class T, class Arch, class Recipe, class Operands>
class dense_lanes {
    using rows_type = lane_tile<T, Arch, Recipe, Operands>;
    using tile = typename rows_type::tile;
    using pack_run = driver::pack_run<tile>;
    using predicate = std::remove_const_t<decltype(Recipe::predicate)>;
    using visible = visible_runs<predicate, rows_type, Operands>;
    static constexpr index_t tiles_per_block = tile::block_rows / tile::rows;
    static constexpr bool masks = !std::is_same_v<predicate, always_t>;
    static constexpr index_t key_terms = plan::count_of<decltype(decltype(Recipe::score.parts)::keys)>;
    static constexpr bool rescores = !plan::is_bare_product<decltype(Recipe::score.pointwise)>;

public:
    dense_lanes(Recipe const& recipe, Operands const& operands, plan::call_plan const& how)
        : recipe_(recipe), operands_(operands), visible_(recipe.predicate, operands), group_(how.tile_heads) {}

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
                  memory.template take<bool>(tile::block_keys * width), memory.template take<signed char>(key_blocks()),
                  memory.template take<T>(key_terms * tile::block_keys * key_blocks()),
                  memory.template take<bool>(key_blocks())};
        std::fill_n(here.has_terms, key_blocks(), false);
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
                auto const keys = key_range(batch, head, k);
                auto const seen = visible_.coverage(all, keys.first, keys.last);
                if (seen.never()) continue;
                T* const terms = here.key_terms + k * key_terms * tile::block_keys;
                if (key_terms > 0 && !std::exchange(here.has_terms[k], true))
                    compute_key_terms<T, Arch>(recipe_.score.parts.keys, tiles[0].facts(), operands_.key, keys, terms,
                                               tile::block_keys);
                if (k + 1 < key_blocks() && (b == first_block || !stays_near())) {
                    here.keys = lines_of(operands_.key, key_range(batch, head, k + 1));
                    here.values = lines_of(operands_.value, key_range(batch, head, k + 1));
                }
                for (index_t t = 0; t < count; ++t) {
                    if (!begun && rows() > tile::block_rows) prefetch_beside({batch, head, first}, next, t);
                    visible_.for_runs(tiles[t], keys.first, keys.last, seen, [&](pack_run run, bool const* mixed) {
                        count_panels(memory.tiles, run, mixed);
                        step(here, tiles[t], {keys, here.finite[k], run, mixed, terms});
                    });
                }
                begun = true;
            }
            for (index_t t = 0; t < count; ++t) tiles[t].finish(recipe_, operands_);
        }
    }

    /// The same tile of the next block follows.
    FOVEA_INLINE void prefetch_beside(row_place now, row_place next, index_t t) const {
        now.query += t * tile::rows;
        next.query += t * tile::rows;
        driver::prefetch_beside(operands_, group_, now, next, tile::rows);
    }

    /// What a task works with.
    struct room {
        T* scores;                                // (keys of a block, width)
        bool* visible;                            // the same: which pairs take part, where values are not finite
        signed char* finite;                      // of the values of each block: -1 unknown
        T* key_terms;                             // (blocks, terms, keys of a block)
        bool* has_terms;                          // of each block
        kernel::prefetch_queue keys{}, values{};  // of the next block
    };

    /// Some packs of a block of keys, and of which panels the mask hides something.
    struct part_of_keys {
        row_range const& block;
        signed char& finite;  // of the values of the block
        pack_run run;
        bool const* mixed;
        T const* key_terms;

        key_run<T> keys(pack_run packs, T* scores, index_t width) const {
            index_t const first = packs.first * tile::pack;
            return {block.first + first, std::min(packs.last * tile::pack, block.last - block.first) - first,
                    scores + first * width, key_terms + first};
        }
    };

    /// Keys and values that the second cache keeps from one block of rows to the next.
    bool stays_near() const {
        constexpr index_t kept = 1 << 18;
        return operands_.keys() * (operands_.features() + operands_.value_features()) * static_cast<index_t>(sizeof(T))
            <= kept;
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

    seen_parts look_at(rows_type const& rows, part_of_keys const& at, bool trims) const {
        seen_parts seen;
        auto const run = at.run;
        index_t const n = rows.vectors();
        if (!masks || !trims || n == 1) {
            seen.parts[seen.count++] = {{0, n}, run};
            return seen;
        }
        pack_run of[tile::most_vectors];
        for (index_t v = 0; v < n; ++v)
            of[v] = visible_.trimmed({rows.span({v, v + 1}), at.block.first, at.block.last}, run, at.mixed);
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
    void step(room& here, rows_type& rows, part_of_keys const& at) const {
        bool const masked = masks && any_mixed(at.run, at.mixed), may_exclude = masked || rescores;
        bool careful = may_exclude && !finite(at);
        auto const seen = look_at(rows, at, masked && !careful);
        alignas(64) T rescale[tile::rows], greatest[tile::rows];
        score(here, rows, at, seen, may_exclude, greatest);
        auto const run = at.keys(at.run, here.scores, rows.width());
        // A product alone may be -inf by itself. Scores are near; of values it is remembered for the tiles that follow.
        auto const excludes = [&] { return kernel::any_excluded<T, Arch>(run.scores, run.count * rows.vectors()); };
        bool const one_tile = this->rows() <= tile::rows;
        if (!may_exclude) careful = one_tile ? excludes() && !finite(at) : !finite(at) && excludes();
        if (careful) note_visible(here, rows, run);
        rows.fold(recipe_, run, greatest, rescale);
        if (careful) return rows.add_visible(operands_, run, here.visible, rescale);
        for (index_t i = 0; i < seen.count; ++i) {
            auto const& [lanes, packs] = seen.parts[i];
            rows.add(operands_, lanes, at.keys(packs, here.scores, rows.width()), rescale, here.values);
            if (i + 1 < seen.count)
                std::fill(rescale + lanes.first * tile::lanes, rescale + lanes.last * tile::lanes, T{1});
        }
    }

    /// The scores of a run, and the greatest of each row.
    void score(room& here, rows_type const& rows, part_of_keys const& at, seen_parts const& seen, bool transforms,
               T* greatest) const {
        std::fill_n(greatest, rows.width(), excluded<T>);
        for (index_t i = 0; i < seen.count; ++i) {
            auto const& [lanes, packs] = seen.parts[i];
            rows.compare(operands_, lanes, at.keys(packs, here.scores, rows.width()), transforms ? nullptr : greatest,
                         here.keys);
        }
        if (!transforms) return;
        for_spans(at.run, at.mixed, [&](index_t pack, index_t packs, bool hides) {
            auto const run = at.keys({pack, pack + packs}, here.scores, rows.width());
            if (masks && hides) rows.template transform<masks>(recipe_, run, greatest);
            else rows.template transform<false>(recipe_, run, greatest);
        });
    }

    /// Which pairs take part, where values are not finite.
    static void note_visible(room& here, rows_type const& rows, key_run<T> const& run) {
        for (index_t i = 0; i < run.count * rows.width(); ++i) here.visible[i] = run.scores[i] != excluded<T>;
    }

    bool finite(part_of_keys const& at) const { return all_finite<T, Arch>(at.finite, operands_.value, at.block); }

    index_t key_blocks() const { return (operands_.keys() + tile::block_keys - 1) / tile::block_keys; }
    row_range key_range(index_t batch, index_t head, index_t block) const {
        index_t const first = block * tile::block_keys;
        return {batch, key_head(head), first, std::min(first + tile::block_keys, operands_.keys())};
    }

    Recipe const& recipe_;
    Operands const& operands_;
    visible visible_;
    index_t group_;  // heads whose queries are rows of one tile
};

}  // namespace fovea::FOVEA_SET::driver
