// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile of the flash loop with a key in each lane.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A tile of dense_loop with a key in each lane of a row: for operands of any type in any place, normalizers of any
/// kind, and few queries.
template <class T, class Arch>
class key_lanes_tile {
public:
    using call = key_lanes_call<T, Arch>;
    using shape = plan::key_lanes_blocking<T, Arch>;
    using keys = packed_keys<T, Arch>;
    using key_run = driver::key_run<shape>;

    static constexpr bool prefetches_rows = true;
    static bool selects(call const& all) { return all.functions.selects; }
    static bool is_linear(call const& all) { return all.functions.is_linear; }
    static bool is_bare_product(call const& all) { return all.functions.is_bare_product; }

    /// Scores, and then weights, of one tile and some blocks of keys at a time.
    struct scratch {
        index_t stride;
        T* scores;      // (planes, rows, stride)
        bool* visible;  // (rows, stride) which pairs take part, where values are not finite
        T rescale[shape::rows];

        scratch(arena& memory, call const& all, index_t blocks)
            : stride(blocks * shape::block_keys + shape::lanes),
              scores(memory.template take<T>(std::max<index_t>(all.functions.products + all.functions.pairs, 1)
                                             * plane_stride())),
              visible(memory.template take<bool>(plane_stride())) {}

        index_t plane_stride() const { return shape::rows * stride; }
        /// From a column of each row on.
        score_block<T> from(index_t column) const { return {scores + column, stride, plane_stride()}; }
    };

    /// Where unfinished sums and states are left: (rows of all tiles, value width).
    struct place {
        T* sums = nullptr;
        char* states = nullptr;
        index_t state_bytes = 0;

        bool empty() const { return sums == nullptr; }
        place tile(index_t t, keys const& from) const {
            index_t const row = t * shape::rows;
            return empty() ? place{} : place{sums + row * from.value_width(), states + row * state_bytes, state_bytes};
        }
    };

    key_lanes_tile(arena& memory, call const& all, place const& at) : whole_panels_(all.functions.pairs > 0) {
        auto const& functions = all.functions;
        rows_.sums = at.empty() ? memory.template take<T>(shape::rows * all.value_width()) : at.sums;
        rows_.states = at.empty() ? memory.template take<char>(shape::rows * functions.state_bytes) : at.states;
        rows_.factors = memory.template take<T>(functions.products * round_up(all.features, shape::lanes) * shape::rows
                                                + shape::lanes);
        rows_.scales = memory.template take<T>(functions.products * shape::rows);
        rows_.terms = memory.template take<T>(functions.row_terms * shape::rows);
        rows_.indices = memory.template take<index_t>(functions.row_indices * shape::rows);
        rows_.pair_factors = memory.template take<T>(functions.query_factors * all.features * shape::rows);
    }

    /// Begins with the `count` rows from `first` on.
    void begin(call const& all, head_group heads, index_t first, index_t count, keys const& from) {
        rows_.heads = heads;
        rows_.first = first;
        rows_.count = count;
        rows_.mr = shape::height_for(count);
        for (index_t r = 0; r < rows_.mr; ++r) rows_.facts[r] = all.facts(heads, first + std::min(r, count - 1));
        std::fill_n(rows_.sums, shape::rows * from.value_width(), all.functions.start);
        all.functions.begin(all, rows_, from.in_place());
    }

    key_lanes_rows<T, Arch>& rows() { return rows_; }
    bool whole_panels() const { return whole_panels_; }  // pairwise terms are computed so

    /// What all rows span, for interval readings; all keys.
    box span(dense_rows const& all) const { return all.span(rows_.heads, rows_.first, rows_.first + rows_.count); }

    /// S, for a run of keys of a block.
    void score(call const& all, block_mask<shape> const&, keys const& from, key_run const& at, scratch const& to,
               bool) const {
        all.functions.score(all, rows_, from, at, to.from(0));
    }

    bool any_excluded(keys const&, key_run const& at, scratch const& of) const {
        bool found = false;
        for (index_t r = 0; r < rows_.count && !found; ++r)
            found = kernel::any_excluded<T, Arch>(of.scores + r * of.stride + at.granules.first * shape::lanes,
                                                  at.granules.last - at.granules.first);
        return found;
    }

    /// Which pairs take part, where values are not finite.
    void mark_visible(keys const&, key_run const& at, scratch const& of) const {
        mark_visible(of, at.granules.first * shape::lanes, at.granules.last * shape::lanes);
    }
    [[gnu::noinline]] void mark_visible(scratch const& of, index_t first, index_t last) const {
        for (index_t r = 0; r < rows_.count; ++r)
            for (index_t i = r * of.stride + first; i < r * of.stride + last; ++i)
                of.visible[i] = of.scores[i] != excluded<T>;
    }

    /// m, l, P: scores become weights.
    void fold(call const& all, keys const& from, key_run const& at, scratch& of) {
        index_t const column = at.granules.first * shape::lanes;
        std::fill_n(of.rescale, shape::rows, T{0});
        all.functions.fold(
            all, rows_,
            {of.scores + column, of.stride, at.granules.last - at.granules.first, from.first(at.block) + column},
            of.rescale);
    }

    /// O = O * rescale + P V
    void add(call const& all, keys const& from, key_run const& at, scratch const& of) {
        all.functions.add(all, rows_, from, weights_of(from, at, of), of.rescale);
    }
    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] void add_visible(call const& all, keys const& from, key_run const& at, scratch const& of) {
        all.functions.add_visible(all, rows_, from, weights_of(from, at, of), of.rescale);
    }

    /// O / l
    void finish(call const& all) { all.functions.finish(all, rows_); }

private:
    weight_tile<T> weights_of(keys const& from, key_run const& at, scratch const& of) const {
        index_t const key = at.granules.first * shape::lanes;
        index_t const count =
            std::min(at.granules.last * shape::lanes, from.last(at.block) - from.first(at.block)) - key;
        return {.first = of.scores + key,
                .stride = of.stride,
                .rows = rows_.count,
                .mr = rows_.mr,
                .block = at.block,
                .key = key,
                .count = count,
                .visible = of.visible + key};
    }

    key_lanes_rows<T, Arch> rows_;
    bool whole_panels_;
};

}  // namespace fovea::FOVEA_SET::driver
