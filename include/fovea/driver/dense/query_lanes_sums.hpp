// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The running maximum, sum and output of a tile of queries with a query in each lane.
#pragma once

#include <fovea/driver/dense/query_lanes_tile.hpp>

#include <algorithm>
#include <cstddef>

namespace fovea::FOVEA_SET::driver {

/// m, l and O of the rows of a query_lanes_tile. Nothing is summed across lanes, and values are not packed: results are
/// transposed after the last key.
template <class T, class Arch>
class query_lanes_sums {
public:
    using number = T;
    using tile = query_lanes_tile<T, Arch>;
    using call = query_lanes_attention<T, Arch>;
    using shape = typename tile::shape;
    using scratch = typename tile::scratch;
    using partial_sums = no_partial_sums;
    using key_run = typename tile::key_run;

    static constexpr bool selects(call const&) { return false; }
    static constexpr bool is_linear(call const&) { return true; }

    /// The keys and values of one head.
    struct key_blocks {
        query_lanes_keys<T, Arch> keys;
        query_lanes_values<T, Arch> values;
        next_lines next{};

        static constexpr bool packs = false;
        key_blocks(call const& all, arena& memory, index_t) : keys(all, memory), values(all, memory) {}

        void begin(head_group heads) {
            keys.begin(heads);
            values.begin();
        }
        index_t first(index_t block) const { return keys.first(block); }
        index_t last(index_t block) const { return keys.last(block); }
        void prepare(index_t block) {
            keys.prepare(block, next);
            values.prepare(block, keys.range(block), keys.range(block + 1), next);
        }
        bool finite(index_t block) const { return values.finite(block, keys.range(block)); }
    };

    query_lanes_sums(arena& memory, call const& all, partial_sums)
        : states_(memory.template take<std::byte>(all.sums.state_bytes * shape::nv)),
          sums_(memory.template take<T>(all.value_features * tile::most_width(all))) {}

    void begin(call const& all, tile const& rows) {
        empty_ = true;
        all.sums.begin(rows.rows(), states_);
    }

    /// m, l, P: scores become weights; `rescale` becomes the factors of the sums so far.
    void fold(call const& all, tile const& rows, key_blocks const& from, key_run const& at, scratch& of, T* rescale) {
        all.sums.fold(all, rows.rows(), states_, rows.block_of(from.keys, at, at.granules, of), rescale);
    }

    /// O = O * rescale + P V
    void add(call const& all, tile const& rows, key_blocks& from, key_run const& at, scratch& of, T* rescale) {
        index_t const width = rows.rows().width();
        for (auto const& [vectors, granules] : of.seen) {
            bool const first_of_all = empty_ && vectors.last - vectors.first == rows.rows().vectors;
            if (first_of_all) empty_ = false;
            else clear_if_empty(all, width);
            auto const weights = rows.block_of(from.keys, at, granules, of);
            index_t const lane = vectors.first * shape::lanes;
            for (index_t k = 0; k < weights.count;) {
                auto const values = from.values(weights.first + k, weights.count - k);
                products<T, Arch>::accumulate_query_lanes(
                    {values.first, {}, values.stride},
                    {vectors.last - vectors.first, all.value_features, values.count, weights.scores + k * width + lane,
                     sums_ + lane, width, first_of_all && k == 0 ? nullptr : rescale + lane, nullptr},
                    from.next.values.queue());
                k += values.count;
                if (of.seen.size() > 1 || k < weights.count)  // what follows adds to the same sums
                    std::fill(rescale + lane, rescale + vectors.last * shape::lanes, T{1});
            }
        }
    }

    /// O = O * rescale + P V where a value is not finite: no weight 0 of an excluded pair may be multiplied by it.
    [[gnu::cold]] void add_visible(call const& all, tile const& rows, key_blocks const& from, key_run const& at,
                                   scratch& of, T const* rescale) {
        index_t const width = rows.rows().width();
        auto const weights = rows.block_of(from.keys, at, at.granules, of);
        bool const* const visible = of.visible + (weights.scores - of.scores);
        clear_if_empty(all, width);
        for (index_t c = 0; c < all.value_features; ++c)
            for (index_t q = 0; q < width; ++q) {
                T& sum = sums_[c * width + q];
                sum *= rescale[q];
                for (index_t k = 0, pair = q; k < weights.count; ++k, pair += width)
                    if (visible[pair]) sum += weights.scores[pair] * from.values(weights.first + k, 1).first[c];
            }
    }

    /// O / l
    void finish(call const& all, tile const& rows) {
        clear_if_empty(all, rows.rows().width());
        all.sums.finish(all, rows.rows(), states_, sums_);
    }

private:
    [[gnu::noinline]] void clear_if_empty(call const& all, index_t width) {
        if (empty_) std::fill_n(sums_, all.value_features * width, T{0});
        empty_ = false;
    }

    std::byte* states_;
    T* sums_;            // (value features, width)
    bool empty_ = true;  // nothing has been added to the sums, nor have they been cleared
};

}  // namespace fovea::FOVEA_SET::driver
