// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The running maximum, sum and output of a tile of queries with a key in each lane.
#pragma once

#include <fovea/driver/dense/key_lanes_tile.hpp>
#include <fovea/driver/dense/packed_values.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// m, l and O of the rows of a key_lanes_tile: normalizers and aggregators of any kind.
template <class T, class Arch>
class key_lanes_sums {
public:
    using number = T;
    using tile = key_lanes_tile<T, Arch>;
    using call = key_lanes_attention<T, Arch>;
    using shape = typename tile::shape;
    using scratch = typename tile::scratch;
    using key_run = typename tile::key_run;
    using values = packed_values<T, Arch>;

    static bool selects(call const& all) { return all.sums.selects; }
    static bool is_linear(call const& all) { return all.sums.is_linear; }

    /// The keys and values of one head.
    struct key_blocks {
        packed_keys<T, Arch> keys;
        packed_values<T, Arch> values;
        next_lines next{};

        static constexpr bool packs = true;  // blocks stay packed for the next block of rows
        key_blocks(call const& all, arena& memory, index_t slots)
            : keys(all, memory, slots), values(all, memory, slots) {}

        void begin(head_group heads) {
            keys.begin(heads);
            values.begin(heads);
        }
        index_t first(index_t block) const { return keys.first(block); }
        index_t last(index_t block) const { return keys.last(block); }
        void prepare(index_t block) {
            keys.prepare(block, next);
            values.prepare(block, next);
        }
        bool finite(index_t block) const { return values.finite(block); }
    };

    /// Where unfinished sums and states are left: (rows of all tiles, value width).
    struct partial_sums {
        T* sums = nullptr;
        char* states = nullptr;
        index_t state_bytes = 0;

        bool empty() const { return sums == nullptr; }
        partial_sums tile(index_t t, call const& all) const {
            index_t const row = t * shape::rows;
            return empty() ? partial_sums{}
                           : partial_sums{sums + row * all.value_width(), states + row * state_bytes, state_bytes};
        }
    };

    key_lanes_sums(arena& memory, call const& all, partial_sums const& at)
        : sums_{at.empty() ? memory.template take<char>(shape::rows * all.sums.state_bytes) : at.states,
                at.empty() ? memory.template take<T>(shape::rows * all.value_width()) : at.sums} {}

    void begin(call const& all, tile const&) {
        std::fill_n(sums_.sums, shape::rows * all.value_width(), all.sums.start);
        all.sums.begin(sums_);
    }

    /// m, l, P: scores become weights; `rescale` becomes the factors of the sums so far.
    void fold(call const& all, tile const& rows, key_blocks const& from, key_run const& at, scratch& of, T* rescale) {
        index_t const column = at.granules.first * shape::lanes;
        std::fill_n(rescale, shape::rows, T{0});
        all.sums.fold(
            all, rows.rows(), sums_,
            {of.scores + column, of.stride, at.granules.last - at.granules.first, from.first(at.block) + column},
            rescale);
    }

    /// O = O * rescale + P V
    void add(call const& all, tile const& rows, key_blocks& from, key_run const& at, scratch const& of, T* rescale) {
        all.sums.add(all, sums_.sums, from.values, weights_of(rows, from, at, of), rescale, from.next);
    }
    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] void add_visible(call const& all, tile const& rows, key_blocks const& from, key_run const& at,
                                   scratch const& of, T* rescale) {
        all.sums.add_visible(all, sums_.sums, from.values, weights_of(rows, from, at, of), rescale);
    }

    /// O / l
    void finish(call const& all, tile const& rows) { all.sums.finish(all, rows.rows(), sums_); }

    row_sums<T> const& sums() const { return sums_; }

private:
    weight_tile<T> weights_of(tile const& rows, key_blocks const& from, key_run const& at, scratch const& of) const {
        index_t const key = at.granules.first * shape::lanes;
        index_t const count =
            std::min(at.granules.last * shape::lanes, from.last(at.block) - from.first(at.block)) - key;
        return {.first = of.scores + key,
                .stride = of.stride,
                .rows = rows.rows().count,
                .mr = rows.rows().mr,
                .block = at.block,
                .key = key,
                .count = count,
                .visible = of.visible + key};
    }

    row_sums<T> sums_;
};

}  // namespace fovea::FOVEA_SET::driver
