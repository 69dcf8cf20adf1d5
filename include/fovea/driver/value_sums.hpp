// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/tile_products.hpp>
#include <fovea/kernel/present.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The weights of a tile of rows that are met with values: (rows, stride), the first for a key of a block.
template <class T>
struct weight_tile {
    T* first;
    index_t stride;
    index_t rows;
    int step;  // rows of the register tile
    index_t block, key, count;
};

/// Adds the values of one head, with their weights, to the sums of a tile: (rows, width).
template <class T, class Arch, class Packed, class Aggregate>
class value_sums {
    using tile = plan::tile<T, Arch>;

public:
    value_sums(Packed const& keys, Aggregate const& aggregate, T* sums)
        : keys_(keys), aggregate_(aggregate), sums_(sums), width_(keys.value_width()) {}

    void add(weight_tile<T> const& weights, T const* rescale) const {
        if constexpr (Packed::rounds_weights)
            for (index_t r = 0; r < weights.rows; ++r)
                kernel::round_to_words<Arch>(weights.first + r * weights.stride,
                                             (weights.count + tile::lanes - 1) / tile::lanes);
        keys_.with_values(weights.block, weights.key, [&](auto const& values) {
            if constexpr (!Packed::always_in_place)
                if (!keys_.in_place()) return add_many(weights, values, rescale);
            add_few(weights, values, rescale);
        });
    }

    /// The same where most weights are 0, as sparse normalizers leave them; nothing is done where they are not.
    bool add_present(weight_tile<T> const& weights) const {
        if constexpr (Packed::rounds_weights) return false;
        else {
            index_t present = 0;
            for (index_t r = 0; r < weights.rows; ++r)
                present += kernel::present_packs<T, Arch>(weights.first + r * weights.stride, weights.count);
            if (2 * present * tile::lanes > weights.rows * weights.count) return false;
            keys_.with_values(weights.block, weights.key, [&](auto const& values) {
                for (index_t r = 0; r < weights.rows; ++r)
                    kernel::accumulate_present<T, Arch>(aggregate_, weights.first + r * weights.stride, weights.count,
                                                        values.first, values.stride, sums_ + r * width_, width_);
            });
            return true;
        }
    }

    /// The same for weights of which only those take part that are `visible`: no value is multiplied by the others.
    void add_visible(weight_tile<T> const& weights, bool const* visible, T const* rescale) const {
        for (index_t r = 0; r < weights.rows; ++r) {
            T* const sum = sums_ + r * width_;
            for (index_t c = 0; c < width_; ++c) sum[c] *= rescale[r];
            for (index_t j = 0; j < weights.count; ++j) {
                index_t const pair = r * weights.stride + j;
                if (!visible[pair]) continue;
                auto const* const value = keys_.value(weights.block, weights.key + j);
                for (index_t c = 0; c < keys_.value_features(); ++c)
                    sum[c] = aggregate_.step(sum[c], weights.first[pair], static_cast<T>(value[c]));
            }
        }
    }

private:
    /// A tile of rows with as many columns of the values as there are registers for.
    void add_many(weight_tile<T> const& weights, value_rows<T> const& values, T const* rescale) const {
        constexpr bool words = Packed::rounds_weights;
        index_t const count = words ? kernel::words_of(weights.count) : weights.count;
        with_rows<tile>(weights.step, [&](auto rows) {
            for_columns<tile::value_vectors(rows()), tile::vectors, 1>([&](auto vectors, index_t c) {
                auto const accumulate = [&](auto const& aggregate) {
                    auto const run = [&](auto const& lines) {
                        return kernel::accumulate<rows(), vectors(), T, Arch>(aggregate, weights.first, weights.stride,
                                                                              count, values.first + c, values.stride,
                                                                              sums_ + c, width_, rescale, lines);
                    };
                    if constexpr (rows() == tile::rows) {
                        if (auto& coming = keys_.coming(); coming.done()) run(kernel::no_lines{});
                        else coming = run(coming);
                    } else {
                        run(kernel::no_lines{});
                    }
                };
                if constexpr (words) accumulate(kernel::word_products{});
                else accumulate(aggregate_);
            });
        });
    }
    template <class Value>
    void add_many(weight_tile<T> const&, value_rows<Value> const&, T const*) const {}  // converted values are packed

    /// The same for few rows, and values that are read once: as much of each as there are registers for, and a few
    /// keys, so that the next rows find them in the nearest cache.
    template <class Value>
    void add_few(weight_tile<T> const& weights, value_rows<Value> const& values, T const* rescale) const {
        constexpr bool words = Packed::rounds_weights, pairs = words && !std::is_same_v<Value, T>;
        index_t const at_once =
            round_up(std::max<index_t>(8192 / (width_ * static_cast<index_t>(sizeof(Value))), 8), 2);
        T one[tile::rows];
        std::fill_n(one, tile::rows, T{1});
        for (index_t k = 0; k < weights.count; k += at_once, rescale = one) {
            index_t const count = std::min(at_once, weights.count - k);
            T const* const first = weights.first + (words ? k / 2 : k);
            auto const add = [&](auto vectors, index_t c) {
                constexpr int together = tile::rows_with(vectors());
                for (index_t r = 0; r < weights.rows; r += together) {
                    T const* const weight = first + r * weights.stride;
                    T* const sums = sums_ + r * width_ + c;
                    if constexpr (pairs)
                        kernel::accumulate_words<together, vectors(), Arch>(weight, weights.stride, count,
                                                                            values.first + k * values.stride + c,
                                                                            values.stride, sums, width_, rescale + r);
                    else if constexpr (words)
                        kernel::accumulate<together, vectors(), T, Arch>(
                            kernel::word_products{}, weight, weights.stride, kernel::words_of(count),
                            values.first + k / 2 * values.stride + c, values.stride, sums, width_, rescale + r);
                    else
                        kernel::accumulate<together, vectors(), T, Arch>(aggregate_, weight, weights.stride, count,
                                                                         values.first + k * values.stride + c,
                                                                         values.stride, sums, width_, rescale + r);
                }
            };
            if constexpr (pairs) for_columns<8, 4, 2>(add);
            else for_columns<8, 4, 1>(add);
        }
    }

    /// Calls f(vectors, first column) until all columns are done, with the first of the numbers of vectors that fits.
    template <int... Vectors, class F>
    void for_columns(F const& f) const {
        index_t c = 0;
        auto const columns = [&](auto vectors) {
            for (; c + vectors() * tile::lanes <= width_; c += vectors() * tile::lanes) f(vectors, c);
        };
        (columns(std::integral_constant<int, Vectors>{}), ...);
    }

    Packed const& keys_;
    Aggregate const& aggregate_;
    T* sums_;
    index_t width_;
};

}  // namespace fovea::FOVEA_SET::driver
