// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scores of a tile of queries with a key in each lane.
#pragma once

#include <fovea/driver/dense/block_mask.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A score tile with a key in each lane of a row: for operands of any type in any place, and few queries.
template <class T, class Arch>
class key_lanes_tile {
public:
    using call = key_lanes_call<T, Arch>;
    using shape = plan::key_lanes_blocking<T, Arch>;
    using keys = packed_keys<T, Arch>;
    using key_run = driver::key_run<shape>;

    static constexpr bool prefetches_rows = true;

    /// Scores, and then weights, of one tile and some blocks of keys at a time.
    struct scratch {
        index_t stride;
        T* scores;      // (planes, rows, stride)
        bool* visible;  // (rows, stride) which pairs take part, where values are not finite

        scratch(arena& memory, call const& all, index_t blocks)
            : stride(blocks * shape::block_keys + shape::lanes),
              scores(memory.template take<T>(std::max<index_t>(all.functions.products + all.functions.pairs, 1)
                                             * plane_stride())),
              visible(memory.template take<bool>(plane_stride())) {}

        index_t plane_stride() const { return shape::rows * stride; }
        /// From a column of each row on.
        score_block<T> from(index_t column) const { return {scores + column, stride, plane_stride()}; }
    };

    key_lanes_tile(arena& memory, call const& all) : whole_panels_(all.functions.pairs > 0) {
        auto const& functions = all.functions;
        rows_.factors = memory.template take<T>(
            functions.products * round_up(all.summed.most, shape::lanes) * shape::rows + shape::lanes);
        rows_.scales = memory.template take<T>(functions.products * shape::rows);
        rows_.terms = memory.template take<T>(functions.row_terms * shape::rows);
        rows_.indices = memory.template take<index_t>(functions.row_indices * shape::rows);
        rows_.pair_factors = memory.template take<T>(functions.query_factors * all.summed.most * shape::rows);
    }

    /// Begins with the `count` rows from `first` on.
    void begin(call const& all, head_group heads, index_t first, index_t count) {
        rows_.heads = heads;
        rows_.first = first;
        rows_.count = count;
        rows_.mr = shape::height_for(count);
        for (index_t r = 0; r < rows_.mr; ++r) rows_.facts[r] = all.facts(heads, first + std::min(r, count - 1));
        all.functions.begin(all, rows_, all.how.keys == plan::reading::in_place);
    }

    key_lanes_rows<T, Arch> const& rows() const { return rows_; }
    bool whole_panels() const { return whole_panels_; }  // pairwise terms are computed so

    /// What all rows span, for interval readings; all keys.
    box span(dense_rows const& all) const { return all.span(rows_.heads, rows_.first, rows_.first + rows_.count); }

    /// S, for a run of keys of a block.
    void score(call const& all, block_mask<shape> const&, keys const& from, key_run const& at, scratch const& to, bool,
               next_lines& next) const {
        all.functions.score(all, rows_, from, at, to.from(0), next);
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

private:
    key_lanes_rows<T, Arch> rows_;
    bool whole_panels_;
};

}  // namespace fovea::FOVEA_SET::driver
