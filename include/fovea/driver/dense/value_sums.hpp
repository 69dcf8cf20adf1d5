// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of values, weighted by a tile with a key in each lane: the product P V, or the steps of another aggregator.
#pragma once

#include <fovea/driver/dense/stored_values.hpp>
#include <fovea/kernel/product/nonzero.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Adds the values of one head, with their weights, to the sums of a tile: (rows, width).
template <class Call>
class value_sums {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using stored = stored_values<Call>;
    using Aggregate = std::remove_const_t<decltype(Call::spec::aggregate)>;
    using tile = key_lanes_of<Call>;
    using rows_type = tile_rows<tile>;
    using scores = score_block<tile>;
    using product = typename stored::product;
    static constexpr bool is_linear = linear_aggregator<Aggregate>;

public:
    value_sums(context_of<Call, tile> const& call, rows_type const& rows, head_values<tile> const& values, T* sums)
        : values_(call.operands, values),
          packs_keys_(call.planned.keys == plan::reading::packed),
          aggregate_(call.spec.aggregate),
          rows_(rows.count),
          mr_(static_cast<int>(rows.width)),
          sums_(sums),
          width_(call.value_width()) {}

    void add(scores const& weights, T const* rescale, kernel::prefetch_queue& next) const {
        for (index_t r = 0; r < rows_; ++r) product::round_weights(weights.scores + r * weights.stride, weights.count);
        T ones[tile::rows];
        values_.with_values(
            weights.first, weights.count, [&]<class Values>(Values const& values, index_t offset, index_t count) {
                constexpr bool as_computed = std::is_same_v<Values, kernel::even_rows<T>>;
                if (offset > 0)
                    rescale = std::fill_n(ones, tile::rows, T{1}) - tile::rows;  // done before the first value
                weighted_rows<T, Values> const all{
                    {{weights.scores + offset / stored::keys_per_row, weights.stride, {}},
                     count,
                     values,
                     sums_,
                     width_,
                     rescale},
                    width_,
                    rows_,
                    mr_};
                if constexpr (as_computed && Call::packs_keys)
                    if (packs_keys_) {  // converted values are packed
                        if constexpr (is_linear) packed_products<product>::accumulate(all, next);
                        else accumulate_tile<Arch>(aggregate_, all, next);
                        return;
                    }
                if constexpr (!is_linear) accumulate_few<product>(aggregate_, all);
                else if constexpr (as_computed) packed_products<product>::accumulate_few(all);
                else accumulate_few<product>(typename product::step{}, all);
            });
    }

    /// Adds only the values whose weight is not 0, where most are, as sparse normalizers leave them; elsewhere nothing
    /// is done, and false returned.
    bool add_nonzero(scores const& weights) const {
        if constexpr (stored::keys_per_row > 1) return false;
        else {
            if (!kernel::mostly_zero<T, Arch>(weights.scores, weights.stride, rows_, weights.count)) return false;
            values_.with_values(weights.first, weights.count, [&](auto const& values, index_t offset, index_t count) {
                for (index_t r = 0; r < rows_; ++r)
                    kernel::accumulate_nonzero<T, Arch>(aggregate_, weights.scores + r * weights.stride + offset, count,
                                                        values, sums_ + r * width_, width_);
            });
            return true;
        }
    }

    /// Adds the values of visible pairs one by one: no value is multiplied by the weight of an excluded pair.
    [[gnu::noinline]] void add_visible(scores const& weights, T const* rescale) const {
        for (index_t r = 0; r < rows_; ++r) {
            T* const sum = sums_ + r * width_;
            for (index_t c = 0; c < width_; ++c) sum[c] *= rescale[r];
            for (index_t j = 0; j < weights.count; ++j) {
                index_t const pair = r * weights.stride + j;
                if (!weights.visible[pair]) continue;
                auto const* const value = values_(weights.first + j);
                for (index_t c = 0; c < values_.features(); ++c)
                    sum[c] = aggregate_.step(sum[c], weights.scores[pair], static_cast<T>(value[c]));
            }
        }
    }

private:
    stored values_;
    bool packs_keys_;  // for many rows
    Aggregate const& aggregate_;
    index_t rows_;
    int mr_;   // of the register tile
    T* sums_;  // (rows, width)
    index_t width_;
};

}  // namespace fovea::FOVEA_SET::driver
