// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a tile of queries and a run of keys, whichever of them lie in lanes.
#pragma once

#include <fovea/driver/dense/block_cache.hpp>
#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/sub_tiles.hpp>
#include <fovea/kernel/score_packs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// S of a tile of rows and a run of keys, masked; it carries nothing from one run to the next.
///
/// With a key in each lane a row of scores is contiguous in memory, and operands may be of any type in any place. With
/// a query in each lane nothing is summed across lanes, and keys are not packed: queries are transposed before the
/// first key.
template <class Blocking>
class score_tile {
    using T = typename Blocking::number;
    static constexpr bool in_lanes = Blocking::queries_in_lanes;

public:
    using call_type = score_call<Blocking>;
    using keys = head_keys<Blocking>;
    using key_run = driver::key_run<Blocking>;
    using block = score_block<Blocking>;

    /// Results, and queries of the next block, are prefetched; rows that are transposed are read many at once anyway.
    static constexpr bool prefetches_rows = !in_lanes && plan::compiled.prefetches;

    /// Scores, and then weights, of one tile and some blocks of keys at a time.
    struct scratch {
        alignas(64) T row_max[Blocking::rows];
        index_t stride;  // of a row, with keys in lanes
        T* scores;       // (planes, rows, stride), or (block_keys, width)
        bool* visible;   // the same for one plane
        sub_tiles<Blocking> pieces;
        T* kept = nullptr;      // like a plane: the first part of the scores as it is before they take its place
        bool finds_max = true;  // of each row, with queries in lanes

        scratch(arena& memory, call_type const& call, index_t blocks)
            : stride(std::min(round_up(call.keys, Blocking::panel), blocks * Blocking::block_keys)
                     + Blocking::lanes * (call.planned.fixed_order ? kernel::chains : 1)),
              scores(memory.template take<T>(std::max<index_t>(call.functions.products + call.functions.pairs, 1)
                                             * plane_stride())),
              visible(memory.template take<bool>(plane_stride())) {}

        index_t plane_stride() const { return Blocking::rows * stride; }
    };

    FOVEA_CONTROL score_tile(arena& memory, call_type const& call) {
        auto const& functions = call.functions;
        index_t const factors = std::max<index_t>(
            (functions.products + functions.squares + functions.tables) * Blocking::steps_for(call.summed.most), 1);
        rows_.queries = memory.template take<T>(functions.query_planes * factors * Blocking::rows + Blocking::lanes);
        index_t const each =
            functions.products + functions.row_terms + functions.query_factors * call.summed.most + functions.squares;
        index_t const centre = functions.squares > 0 ? 3 * call.summed.most : 0;
        rows_.scales = memory.template take<T>(each * Blocking::rows + centre);
        rows_.terms = rows_.scales + functions.products * Blocking::rows;
        rows_.pair_factors = rows_.terms + functions.row_terms * Blocking::rows;
        rows_.norms = rows_.pair_factors + functions.query_factors * call.summed.most * Blocking::rows;
        rows_.centre = rows_.norms + functions.squares * Blocking::rows;
        rows_.indices =
            memory.template take<typename tile_rows<Blocking>::index>(functions.row_indices * Blocking::rows);
        whole_panels_ = functions.pairs > 0;
    }

    /// Begins with the `count` rows from `first` on.
    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        rows_.heads = heads;
        rows_.first = first;
        rows_.count = count;
        rows_.width = width_of(call, count);
        for (index_t r = 0; r < rows_.width; ++r)
            if constexpr (!in_lanes) {
                rows_.coordinates[static_cast<std::size_t>(r)] =
                    call.coordinates(heads, first + std::min(r, count - 1));
            } else if (call.tile_heads > 1) {
                auto const row = rows_.facts_of(call, r);
                rows_.queries_of[static_cast<std::size_t>(r)] = static_cast<kernel::integer_like<T>>(row.q_idx);
                rows_.heads_of[static_cast<std::size_t>(r)] = static_cast<kernel::integer_like<T>>(row.head);
            }
        call.functions.begin(call, rows_);
    }

    tile_rows<Blocking> const& rows() const { return rows_; }
    bool whole_panels() const { return whole_panels_; }  // pairwise terms are computed so
    /// The box of all rows, for interval readings; all keys.
    box span(dense_rows const& call) const { return rows_.span(call, 0, rows_.count); }

    /// S for a run of keys of a block, `column` scores after the first ones of the block. Where the tile is trimmed,
    /// vectors of queries that see nothing at the ends of the run are left out.
    block score(call_type const& call, block_mask<Blocking> const& mask, keys const& from, key_run const& at,
                scratch& to, bool trims, next_lines& next, index_t column = 0) const {
        auto scores = place(from, at, to, column);
        bool const has_rest = !call.functions.is_bare_product || any_mixed(at);
        if (!has_rest && !to.finds_max) scores.row_max = nullptr;
        if constexpr (in_lanes) {
            index_t const vectors = rows_.width / Blocking::lanes;
            if (trims && vectors > 1 && (!Blocking::cuts_when_due || at.cuts->is_due()))
                to.pieces.cut(vectors, mask, from, at, [&](vector_run const& of) {
                    return rows_.span(call, of.first * Blocking::lanes, of.last * Blocking::lanes);
                });
            else to.pieces.take_whole(vectors, at.granules);
            std::fill_n(to.row_max, rows_.width, excluded<T>);
        }
        call.functions.multiply(call, rows_, from, at, scores, next);
        if (to.kept != nullptr)
            for_lines(scores, [&](index_t first, index_t vectors) {
                T const* const part = scores.scores + first;
                std::copy_n(part, vectors * Blocking::lanes, to.kept + (part - to.scores));
            });
        if (!has_rest) return scores;
        for_spans(at, [&](index_t first, index_t granules, bool masked) {
            auto const part =
                scores.part((first - at.granules.first) * Blocking::granule, granules * Blocking::granule);
            call.functions.transform(call, rows_, from, part, masked);
        });
        return scores;
    }

    /// Where the scores of a run lie, before they are multiplied.
    block place(keys const& from, key_run const& at, scratch& of, index_t column = 0) const {
        index_t const first = at.granules.first * Blocking::granule, begin = from.first(at.block);
        index_t const count = std::min(at.granules.last * Blocking::granule, from.last(at.block) - begin) - first;
        index_t const offset = in_lanes ? first * rows_.width : column + first;
        return {.first = begin + first,
                .count = count,
                .scores = of.scores + offset,
                .stride = in_lanes ? rows_.width : of.stride,
                .plane_stride = of.plane_stride(),
                .visible = of.visible + offset,
                .row_max = of.row_max,
                .pieces = &of.pieces};
    }

    bool any_excluded(block const& of) const {
        bool found = false;
        for_lines(of, [&](index_t first, index_t vectors) {
            found = found || kernel::any_excluded<T, typename Blocking::architecture>(of.scores + first, vectors);
        });
        return found;
    }

    /// Which pairs take part, where values are not finite.
    void mark_visible(block const& of) const {
        for_lines(of, [&](index_t first, index_t vectors) {
            T const* FOVEA_RESTRICT const from = of.scores + first;
            bool* FOVEA_RESTRICT const to = of.visible + first;
            for (index_t i = 0; i < vectors * Blocking::lanes; ++i) to[i] = from[i] != excluded<T>;
        });
    }

private:
    /// Rows that are computed for `count` of them.
    static index_t width_of(call_type const& call, index_t count) {
        if constexpr (!in_lanes)
            if (call.planned.keys == plan::reading::in_place) return Blocking::width_in_place(count);
        return Blocking::width_for(count);
    }
    /// Calls f(first, vectors) for scores that lie one after the other: of each row, or of all rows and keys.
    template <class F>
    void for_lines(block const& of, F const& f) const {
        if constexpr (in_lanes) f(index_t{0}, of.count * of.stride / Blocking::lanes);
        else
            for (index_t r = 0; r < rows_.count; ++r) f(r * of.stride, of.packs());
    }

    tile_rows<Blocking> rows_;
    bool whole_panels_;
};

}  // namespace fovea::FOVEA_SET::driver
