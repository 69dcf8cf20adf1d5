// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/packed_keys.hpp>
#include <fovea/kernel/transform.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// A tile of dense_loop with a key in each lane of a row: for operands of any type in any place, normalizers of any
/// kind, and few queries.
template <class T, class Arch>
class row_tile {
public:
    using call = row_call<T, Arch>;
    using shape = plan::tile<T, Arch>;
    using keys = packed_keys<T, Arch>;
    using part = key_part<shape>;

    static bool selects(call const& all) { return all.spec.selects; }
    static bool adds(call const& all) { return all.spec.adds; }
    static bool is_bare_product(call const& all) { return all.spec.is_bare_product; }

    /// Scores, and then weights, of one tile and some blocks of keys at a time.
    struct scratch {
        index_t stride;
        T* scores;      // (planes, rows, stride)
        bool* visible;  // (rows, stride) which pairs take part, where values are not finite
        T rescale[shape::rows];

        scratch(arena& memory, call const& all, index_t blocks)
            : stride(blocks * shape::block_keys + shape::lanes),
              scores(
                  memory.template take<T>(std::max<index_t>(all.spec.products + all.spec.pairs, 1) * plane_stride())),
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

    row_tile(arena& memory, call const& all, place const& at) : whole_panels_(all.spec.pairs > 0) {
        auto const& spec = all.spec;
        rows_.sums = at.empty() ? memory.template take<T>(shape::rows * all.value_width()) : at.sums;
        rows_.states = at.empty() ? memory.template take<char>(shape::rows * spec.state_bytes) : at.states;
        rows_.factors =
            memory.template take<T>(spec.products * round_up(all.features, shape::lanes) * shape::rows + shape::lanes);
        rows_.scales = memory.template take<T>(spec.products * shape::rows);
        rows_.terms = memory.template take<T>(spec.row_terms * shape::rows);
        rows_.indices = memory.template take<index_t>(spec.row_indices * shape::rows);
        rows_.pair_factors = memory.template take<T>(spec.query_factors * all.features * shape::rows);
    }

    /// Begins with so many rows from `first` on.
    void begin(call const& all, head_group head, index_t first, index_t count, keys const& from) {
        rows_.head = head;
        rows_.first = first;
        rows_.count = count;
        with_rows<shape>(count, [&](auto n) { rows_.step = n; });
        for (index_t r = 0; r < rows_.step; ++r) rows_.facts[r] = all.facts(head, first + std::min(r, count - 1));
        std::fill_n(rows_.sums, shape::rows * from.value_width(), all.spec.start);
        all.spec.begin(all, rows_, from.in_place());
    }

    query_rows<T, Arch>& rows() { return rows_; }
    bool whole_panels() const { return whole_panels_; }  // pairwise terms are computed so

    /// What all rows span, for interval readings; all keys.
    box span(dense_rows const& all) const { return all.span(rows_.head, rows_.first, rows_.first + rows_.count); }

    /// S, for part of a block of keys.
    void score(call const& all, block_mask<shape> const&, keys const& from, part const& at, scratch const& to,
               bool) const {
        all.spec.score(all, rows_, from, at, to.from(0));
    }

    bool any_excluded(keys const&, part const& at, scratch const& of) const {
        bool found = false;
        for (index_t r = 0; r < rows_.count && !found; ++r)
            found = kernel::any_excluded<T, Arch>(of.scores + r * of.stride + at.run.first * shape::lanes,
                                                  at.run.last - at.run.first);
        return found;
    }

    /// Which pairs take part, where values are not finite.
    void mark_visible(keys const&, part const& at, scratch const& of) const {
        mark_visible(of, at.run.first * shape::lanes, at.run.last * shape::lanes);
    }
    [[gnu::noinline]] void mark_visible(scratch const& of, index_t first, index_t last) const {
        for (index_t r = 0; r < rows_.count; ++r)
            for (index_t i = r * of.stride + first; i < r * of.stride + last; ++i)
                of.visible[i] = of.scores[i] != excluded<T>;
    }

    /// m, l, P: scores become weights.
    void fold(call const& all, keys const& from, part const& at, scratch& of) {
        index_t const column = at.run.first * shape::lanes;
        std::fill_n(of.rescale, shape::rows, T{0});
        all.spec.fold(all, rows_,
                      {of.scores + column, of.stride, at.run.last - at.run.first, from.first(at.block) + column},
                      of.rescale);
    }

    /// O = O * rescale + P V
    void add(call const& all, keys const& from, part const& at, scratch const& of) {
        all.spec.add(all, rows_, from, weights_of(from, at, of), of.rescale);
    }
    /// The same where a value is not finite: it must not be multiplied by the weight 0 of a pair that takes no part.
    [[gnu::cold]] void add_visible(call const& all, keys const& from, part const& at, scratch const& of) {
        all.spec.add_visible(all, rows_, from, weights_of(from, at, of), of.rescale);
    }

    /// O / l
    void finish(call const& all) { all.spec.finish(all, rows_); }

private:
    weight_tile<T> weights_of(keys const& from, part const& at, scratch const& of) const {
        index_t const key = at.run.first * shape::lanes;
        index_t const count = std::min(at.run.last * shape::lanes, from.last(at.block) - from.first(at.block)) - key;
        return {of.scores + key, of.stride, rows_.count, rows_.step, at.block, key, count, of.visible + key};
    }

    query_rows<T, Arch> rows_;
    bool whole_panels_;
};

}  // namespace fovea::FOVEA_SET::driver
