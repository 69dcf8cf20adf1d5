// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile of the flash loop with a query in each lane.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/query_lanes_keys.hpp>
#include <fovea/driver/dense/vector_pieces.hpp>
#include <fovea/kernel/transform_lanes.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A tile of dense_loop with a query in each lane.
///
/// Nothing is summed across lanes, and keys and values are not packed: queries are transposed before the first key, and
/// results after the last.
template <class T, class Arch>
class query_lanes_tile {
public:
    using call = query_lanes_call<T, Arch>;
    using shape = plan::query_lanes_blocking<T, Arch>;
    using keys = query_lanes_keys<T, Arch>;
    using key_run = driver::key_run<shape>;
    using block = query_lanes_block<T>;

    static constexpr bool prefetches_rows = false;  // rows are transposed, which reads and writes many at once
    static constexpr bool selects(call const&) { return false; }
    static constexpr bool is_linear(call const&) { return true; }
    static bool is_bare_product(call const& all) { return all.functions.is_bare_product; }
    static constexpr bool whole_panels() { return false; }

    /// Scores, and then weights, of one tile and a block of keys.
    struct scratch {
        T* scores;      // (block_keys, width)
        bool* visible;  // (block_keys, width) which pairs take part, where values are not finite
        vector_pieces<shape> seen;
        alignas(64) T rescale[shape::rows], row_max[shape::rows];

        scratch(arena& memory, call const& all, index_t)
            : scores(memory.template take<T>(pairs(all))), visible(memory.template take<bool>(pairs(all))) {}

    private:
        static index_t pairs(call const& all) {
            return std::min(round_up(all.keys, shape::granule), shape::block_keys) * most_width(all);
        }
    };

    /// Sums are kept in the tile alone.
    struct place {
        static constexpr bool empty() { return true; }
        place tile(index_t, keys const&) const { return {}; }
    };

    query_lanes_tile(arena& memory, call const& all, place) {
        index_t const width = most_width(all);
        rows_.queries = memory.template take<T>(std::max<index_t>(all.features, 1) * width + shape::lanes);
        rows_.terms = memory.template take<T>(all.functions.row_terms * width);
        rows_.indices = memory.template take<kernel::integer_like<T>>(all.functions.row_indices * width);
        rows_.states = memory.template take<std::byte>(all.functions.state_bytes * shape::nv);
        sums_ = memory.template take<T>(all.value_features * width);
    }

    /// Begins with the `count` rows from `first` on.
    void begin(call const& all, head_group heads, index_t first, index_t count, keys const&) {
        rows_.heads = heads;
        rows_.first_row = first;
        rows_.count = count;
        rows_.vectors = shape::vectors_for(count);
        empty_ = true;
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
    void score(call const& all, block_mask<shape> const& mask, keys& from, key_run const& at, scratch& to,
               bool trims) const {
        if (trims && rows_.vectors > 1)
            to.seen.cut(rows_.vectors, mask, from, at, [&](index_t v) {
                index_t const first = rows_.first_row + v * shape::lanes;
                return all.span(rows_.heads, first, std::min(first + shape::lanes, rows_.first_row + rows_.count));
            });
        else to.seen.take_whole(rows_.vectors, at.granules);
        bool const computes = !all.functions.is_bare_product || any_mixed(at);
        std::fill_n(to.row_max, width(), excluded<T>);
        for (auto const& [vectors, granules] : to.seen)
            multiply(all, vectors, block_of(from, at, granules, to), !computes, from);
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

    /// m, l, P: scores become weights.
    void fold(call const& all, keys const& from, key_run const& at, scratch& of) {
        all.functions.fold(all, rows_, block_of(from, at, at.granules, of), of.rescale);
    }

    /// O = O * rescale + P V
    void add(call const& all, keys& from, key_run const& at, scratch& of) {
        for (auto const& [vectors, granules] : of.seen) {
            bool const first_of_all = empty_ && vectors.last - vectors.first == rows_.vectors;
            if (first_of_all) empty_ = false;
            else clear_if_empty(all);
            auto const weights = block_of(from, at, granules, of);
            index_t const lane = vectors.first * shape::lanes;
            for (index_t k = 0; k < weights.count;) {
                auto const values = from.values(weights.first + k, weights.count - k);
                products<T, Arch>::accumulate_query_lanes(
                    {values.first, {}, values.stride},
                    {vectors.last - vectors.first, all.value_features, values.count,
                     weights.scores + k * width() + lane, sums_ + lane, width(),
                     first_of_all && k == 0 ? nullptr : of.rescale + lane, nullptr},
                    from.next_values.queue());
                k += values.count;
                if (of.seen.size() > 1 || k < weights.count)  // what follows adds to the same sums
                    std::fill(of.rescale + lane, of.rescale + vectors.last * shape::lanes, T{1});
            }
        }
    }

    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] void add_visible(call const& all, keys const& from, key_run const& at, scratch& of) {
        auto const weights = block_of(from, at, at.granules, of);
        bool const* const visible = of.visible + (weights.scores - of.scores);
        clear_if_empty(all);
        for (index_t c = 0; c < all.value_features; ++c)
            for (index_t q = 0; q < width(); ++q) {
                T& sum = sums_[c * width() + q];
                sum *= of.rescale[q];
                for (index_t k = 0, pair = q; k < weights.count; ++k, pair += width())
                    if (visible[pair]) sum += weights.scores[pair] * from.values(weights.first + k, 1).first[c];
            }
    }

    /// O / l
    void finish(call const& all) {
        clear_if_empty(all);
        all.functions.finish(all, rows_, sums_);
    }

private:
    static index_t most_width(call const& all) { return std::min(round_up(all.rows, shape::lanes), shape::rows); }
    index_t width() const { return rows_.width(); }

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

    /// Products of some vectors of rows with keys; the maximum of each row where they are the scores.
    void multiply(call const& all, vector_run vectors, block const& to, bool are_scores, keys& from) const {
        index_t const lane = vectors.first * shape::lanes;
        if (all.features == 0) return multiply_no_features(vectors, to, are_scores);
        for (index_t k = 0; k < to.count;) {
            auto const run = from.keys(to.first + k, to.count - k);
            products<T, Arch>::contract_query_lanes(
                {run.first, run.stride, {}},
                {vectors.last - vectors.first, run.count, all.features, rows_.queries + lane,
                 to.scores + k * width() + lane, width(), nullptr, are_scores ? to.row_max + lane : nullptr},
                from.next_keys.queue());
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

    [[gnu::noinline]] void clear_if_empty(call const& all) {
        if (empty_) std::fill_n(sums_, all.value_features * width(), T{0});
        empty_ = false;
    }

    query_lanes_rows<T, Arch> rows_;
    T* sums_;            // (value features, width)
    bool empty_ = true;  // nothing has been added to the sums, nor have they been cleared
};

}  // namespace fovea::FOVEA_SET::driver
