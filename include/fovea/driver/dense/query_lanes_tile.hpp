// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a tile of queries with a query in each lane.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/query_lanes_keys.hpp>
#include <fovea/driver/dense/vector_pieces.hpp>
#include <fovea/kernel/transform_lanes.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A score tile with a query in each lane. Nothing is summed across lanes, and keys are not packed: queries are
/// transposed before the first key.
template <class T, class Arch>
class query_lanes_tile {
public:
    using call = query_lanes_call<T, Arch>;
    using shape = plan::query_lanes_blocking<T, Arch>;
    using keys = query_lanes_keys<T, Arch>;
    using key_run = driver::key_run<shape>;
    using block = query_lanes_block<T>;

    static constexpr bool prefetches_rows = false;  // rows are transposed, which reads and writes many at once
    static constexpr bool whole_panels() { return false; }

    /// Scores, and then weights, of one tile and a block of keys.
    struct scratch {
        T* scores;      // (block_keys, width)
        bool* visible;  // (block_keys, width) which pairs take part, where values are not finite
        vector_pieces<shape> seen;
        alignas(64) T row_max[shape::rows];

        scratch(arena& memory, call const& all, index_t)
            : scores(memory.template take<T>(pairs(all))), visible(memory.template take<bool>(pairs(all))) {}

    private:
        static index_t pairs(call const& all) {
            return std::min(round_up(all.keys, shape::granule), shape::block_keys) * most_width(all);
        }
    };

    query_lanes_tile(arena& memory, call const& all) {
        index_t const width = most_width(all);
        rows_.queries = memory.template take<T>(std::max<index_t>(all.summed.product.count, 1) * width + shape::lanes);
        rows_.terms = memory.template take<T>(all.functions.row_terms * width);
        rows_.indices = memory.template take<kernel::integer_like<T>>(all.functions.row_indices * width);
    }

    /// Begins with the `count` rows from `first` on.
    void begin(call const& all, head_group heads, index_t first, index_t count) {
        rows_.heads = heads;
        rows_.first_row = first;
        rows_.count = count;
        rows_.vectors = shape::vectors_for(count);
        for (index_t r = 0; r < width() && all.tile_heads > 1; ++r) {
            auto const row = rows_.facts_of(all, r);
            rows_.queries_of[r] = static_cast<kernel::integer_like<T>>(row.q_idx);
            rows_.heads_of[r] = static_cast<kernel::integer_like<T>>(row.head);
        }
        all.functions.begin(all, rows_);
    }

    /// What all rows span, for interval readings; all keys.
    box span(dense_rows const& all) const {
        return all.span(rows_.heads, rows_.first_row, rows_.first_row + rows_.count);
    }

    /// S: products with keys, the rest of the score, and the mask in mixed panels. Where the tile is trimmed, vectors
    /// of queries that see nothing at the ends of the run are left out.
    void score(call const& all, block_mask<shape> const& mask, keys const& from, key_run const& at, scratch& to,
               bool trims, next_lines& next) const {
        if (trims && rows_.vectors > 1)
            to.seen.cut(rows_.vectors, mask, from, at, [&](index_t v) {
                index_t const first = rows_.first_row + v * shape::lanes;
                return all.span(rows_.heads, first, std::min(first + shape::lanes, rows_.first_row + rows_.count));
            });
        else to.seen.take_whole(rows_.vectors, at.granules);
        bool const computes = !all.functions.is_bare_product || any_mixed(at);
        std::fill_n(to.row_max, width(), excluded<T>);
        for (auto const& [vectors, granules] : to.seen)
            multiply(all, vectors, block_of(from, at, granules, to), !computes, from, next);
        if (!computes) return;
        for_spans(at, [&](index_t first, index_t granules, bool masked) {
            all.functions.score(all, rows_, block_of(from, at, {first, first + granules}, to), masked);
        });
    }

    bool any_excluded(keys const& from, key_run const& at, scratch& of) const {
        auto const all = block_of(from, at, at.granules, of);
        return kernel::any_excluded<T, Arch>(all.scores, all.count * rows_.vectors);
    }

    /// Which pairs take part, where values are not finite.
    [[gnu::cold]] void mark_visible(keys const& from, key_run const& at, scratch& of) const {
        auto const all = block_of(from, at, at.granules, of);
        bool* const visible = of.visible + (all.scores - of.scores);
        for (index_t i = 0; i < all.count * width(); ++i) visible[i] = all.scores[i] != excluded<T>;
    }

    query_lanes_rows<T, Arch> const& rows() const { return rows_; }

    /// Some granules of a run of keys.
    block block_of(keys const& from, key_run const& at, granule_run<shape> granules, scratch& of) const {
        index_t const first = granules.first * shape::granule, begin = from.first(at.block);
        index_t const last = std::min(granules.last * shape::granule, from.last(at.block) - begin);
        return {begin + first,
                last - first,
                of.scores + first * width(),
                from.terms(at.block) + first,
                from.indices(at.block) + first,
                of.row_max};
    }

    /// The most rows that a tile of the call has, in whole vectors.
    static index_t most_width(call const& all) { return std::min(round_up(all.rows, shape::lanes), shape::rows); }

private:
    index_t width() const { return rows_.width(); }

    /// Products of some vectors of rows with keys; the maximum of each row where they are the scores.
    void multiply(call const& all, vector_run vectors, block const& to, bool are_scores, keys const& from,
                  next_lines& next) const {
        index_t const lane = vectors.first * shape::lanes;
        auto const [first_feature, features] = all.summed.product;
        if (features == 0) return multiply_no_features(vectors, to, are_scores);
        for (index_t k = 0; k < to.count;) {
            auto const run = from(to.first + k, to.count - k);
            products<T, Arch>::contract_query_lanes(
                {run.first + first_feature, run.stride, {}},
                {vectors.last - vectors.first, run.count, features, rows_.queries + lane,
                 to.scores + k * width() + lane, width(), nullptr, are_scores ? to.row_max + lane : nullptr},
                next.keys.queue());
            k += run.count;
        }
    }

    /// Products over no features: 0 times the scale, which may be infinite, as the expression says. They are computed
    /// in place of the queries.
    [[gnu::cold]] void multiply_no_features(vector_run vectors, block const& to, bool are_scores) const {
        for (index_t lane = vectors.first * shape::lanes; lane < vectors.last * shape::lanes; ++lane) {
            T const product = rows_.queries[lane];
            for (index_t k = 0; k < to.count; ++k) to.scores[k * width() + lane] = product;
            if (are_scores && product > to.row_max[lane]) to.row_max[lane] = product;
        }
    }

    query_lanes_rows<T, Arch> rows_;
};

}  // namespace fovea::FOVEA_SET::driver
