// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 operands by a matrix unit, with a query in each lane.
#pragma once

#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/kernel/tile_sums.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/product.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace fovea::FOVEA_SET::kernel {

/// The product of bfloat16 operands by the matrix unit of an architecture: S^T = K Q^T and O^T += V^T P^T, 32 rows by
/// 32 queries in four tiles of sums. Rows of keys and of transposed values are the left operand, pairs of features of
/// queries and pairs of weights the right one, which are packed once for a tile of queries, and once for a block of
/// weights. The factor of a query is applied to its sums; weights are rounded to so many bfloat16, each of what the
/// ones before it leave.
template <class T, class Arch, int Weight_parts>
struct amx_bf16 {
    using number = T;
    using architecture = Arch;
    using element = bfloat16;
    using shape = plan::matrix_unit_blocking<T, Arch, element, Weight_parts>;
    using unit = matrix_unit<Arch>;
    using scope = typename unit::scope;
    static constexpr bool available = plan::multiplies_in_matrix_unit<T, Arch>;
    static constexpr bool packs_values = true, scales_queries = false;

    /// Queries as pairs of features, a query in each lane, with zeros up to whole tiles. Factors that are all powers of
    /// two up to 1 are applied to them, exactly, and are 1 then.
    template <class Rows>
    static void pack_queries(Rows const& row, T* scales, transpose_target<T> const& destination) {
        transpose_bf16_pairs<Arch>(row, destination);
        T* const to = destination.first;
        index_t const width = destination.stride, pairs = bf16_pair_count(destination.features),
                      padded = round_up(destination.features, elements) / 2;
        std::fill_n(to + pairs * width, (padded - pairs) * width, T{0});
        if (!std::all_of(scales, scales + width, is_power_of_two)) return;
        for (index_t p = 0; p < pairs; ++p)
            for (index_t lane = 0; lane < width; lane += side) {
                T* const at = to + p * width + lane;
                scaled_pairs(vector::load(at), vector::load(scales + lane)).store(at);
            }
        std::fill_n(scales, width, T{1});
    }

    /// One row of a key, with zeros up to `stride` elements.
    static void copy_key(element const* row, index_t features, element* to, index_t stride) {
        std::fill_n(std::copy_n(row, features, to), stride - features, element{});
    }

    /// Values transposed: tiles of 16 features by 32 keys, (keys / 32, round_up(features, 32) / 16, 16, 32), with zeros
    /// for keys and features that do not exist. `row(k)` points to the value of a key.
    template <class Rows>
    static void pack_values(Rows const& row, index_t count, index_t features, element* to) {
        for (index_t k = 0; k < count; k += elements)
            for (index_t f = 0; f < features; f += elements, to += 2 * side * elements) {
                vector pairs[2][side];
                for (index_t p = 0; p < side; ++p) {
                    auto const load = [&](index_t key) FOVEA_LAMBDA {
                        return key < count ? load_bf16_pairs<Arch>(row(key) + f, features - f) : vector(T{0});
                    };
                    vector both[2];
                    bf16_pairs<Arch>::interleaved(load(k + 2 * p), load(k + 2 * p + 1), both);
                    for (index_t half = 0; half < 2; ++half) pairs[half][p] = both[half];
                }
                for (index_t half = 0; half < 2; ++half) {
                    lanes_of<T, Arch>::transpose(pairs[half]);
                    for (index_t r = 0; r < side; ++r)
                        pairs[half][r].store(reinterpret_cast<T*>(to + (half * side + r) * elements));
                }
            }
    }
    /// A number of packed values, `width` elements for each key.
    static T value_at(element const* packed, index_t width, index_t key, index_t feature) {
        index_t const tile = key / elements * (width / side) + feature / side;
        return static_cast<T>(packed[(tile * side + feature % side) * elements + key % elements]);
    }

    static void contract_query_lanes(key_operand<element> const& keys, lane_sums<T> const& all, prefetch_queue& next) {
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            for (index_t k = 0; k < all.element_count; k += elements) {
                index_t const count = std::min(all.element_count - k, elements);
                if (count > side) add_keys<2, vectors()>(keys.from_row(k), count, all, all.sums + k * all.width, next);
                else add_keys<1, vectors()>(keys.from_row(k), count, all, all.sums + k * all.width, next);
                if (k > 0) scale<vectors()>(all, k - elements, elements);  // while the unit works on the next ones
            }
            index_t const last = (all.element_count - 1) / elements * elements;
            scale<vectors()>(all, last, all.element_count - last);
        });
    }

    /// The step stride of values is that of packed ones, for a key.
    static void accumulate_query_lanes(value_operand<element> const& values, lane_sums<T> const& all,
                                       prefetch_queue& next) {
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            alignas(64) c_array<T, Weight_parts * plane<vectors()>> weights;  // pairs of keys
            round_weights<vectors()>(all, &weights[0]);
            if (all.rescale != nullptr) rescale<vectors()>(all);
            for (index_t f = 0; f < all.element_count; f += 2 * side) {
                auto const* const from = values.first + f * elements;
                T* const sums = all.sums + f * all.width;
                if (all.element_count - f > side)
                    add_values<2, vectors()>(from, values.step_stride, all, weights, sums, next);
                else add_values<1, vectors()>(from, values.step_stride, all, weights, sums, next);
            }
        });
    }

private:
    using vector = pack<T, Arch>;
    using bits = registers<T, Arch>;
    static constexpr index_t side = tile_rows_of_unit, elements = shape::tile_elements;
    static constexpr index_t element_bytes = sizeof(element), number_bytes = sizeof(T);
    template <int M, int N>
    using tiles = tile_sums<unit, T, M, N>;

    static bool is_power_of_two(T x) { return x > 0 && x <= 1 && (std::bit_cast<std::uint32_t>(x) & 0x7fffffU) == 0; }
    /// Pairs times the factor of each lane, if the products are numbers of as many bits.
    FOVEA_INLINE static vector scaled_pairs(vector const& pairs, vector const& factor) {
        return bf16_pairs<Arch>::paired(lower(pairs) * factor, upper(pairs) * factor);
    }
    /// The lower and the upper numbers of pairs.
    FOVEA_INLINE static vector lower(vector const& pairs) {
        return {bits::as_reals(bits::template shift_left<16>(bits::as_integers(pairs.value)))};
    }
    FOVEA_INLINE static vector upper(vector const& pairs) {
        auto const shifted = bits::template shift_right<16>(bits::as_integers(pairs.value));
        return {bits::as_reals(bits::template shift_left<16>(shifted))};
    }
    /// Two lines beside each product of four tiles.
    FOVEA_INLINE static void prefetch(prefetch_queue& next) {
        for (int line = 0; line < 2; ++line) next.prefetch_line<Arch>();
    }

    /// The rows of a left tile. Fewer than 16 are copied, since there may be no memory after them.
    template <int Tile>
    FOVEA_INLINE static void load_keys(element const* from, index_t stride, index_t count) {
        if (count >= side) unit::template load<Tile>(from, stride * element_bytes);
        else load_copied<Tile>(from, stride, count);
    }
    template <int Tile>
    [[gnu::cold, gnu::noinline]] static void load_copied(element const* from, index_t stride, index_t count) {
        alignas(64) c_array<element, side * elements> rows = {};
        for (index_t r = 0; r < count; ++r) std::copy_n(from + r * stride, elements, &rows[r * elements]);
        unit::template load<Tile>(&rows[0], elements * element_bytes);
    }

    /// S^T of `count` keys, and of what is in memory after them up to whole tiles.
    template <int M, int N>
    static void add_keys(key_operand<element> const& keys, index_t count, lane_sums<T> const& all, T* to,
                         prefetch_queue& next) {
        using sums = tiles<M, N>;
        sums::clear();
        for (index_t f = 0; f < all.steps; f += elements) {
            unrolled<M>([&](auto m) FOVEA_LAMBDA {
                load_keys<sums::left + m()>(keys.from_row(m() * side).first + f, keys.row_stride, count - m() * side);
            });
            sums::multiply(all.vectors + f / 2 * all.width, all.width);
            prefetch(next);
        }
        sums::store(to, all.width);
    }

    /// The sums of some keys times the factors of their queries, and the greatest of each query.
    template <int N>
    static void scale(lane_sums<T> const& all, index_t first, index_t count) {
        bool const scales = !all_ones(all.scales, N);
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            T* const from = all.sums + first * all.width + n() * side;
            auto const factor = vector::load(all.scales + n() * side);
            for (index_t k = 0; k < (scales ? count : 0); ++k)
                (vector::load(from + k * all.width) * factor).store(from + k * all.width);
            if (all.row_max == nullptr) return;
            T* const to = all.row_max + n() * side;
            max(max_of_packs<T, Arch>(from, count, all.width), vector::load(to)).store(to);
        });
    }
    static bool all_ones(T const* factors, int vectors) {
        return std::all_of(factors, factors + vectors * side, [](T x) { return x == T{1}; });
    }

    /// The pairs of a block of weights: (block_keys / 2, N * 16).
    template <int N>
    static constexpr index_t plane = shape::block_keys / 2 * N * side;

    /// Weights of neighbouring keys as pairs, with zeros up to whole tiles: (parts, block_keys / 2, N * 16).
    template <int N>
    static void round_weights(lane_sums<T> const& all, T* to) {
        for (index_t k = 0; k < round_up(all.steps, elements); k += 2, to += N * side)
            unrolled<N>([&](auto n) FOVEA_LAMBDA {
                vector rest[2];
                for (index_t i = 0; i < 2; ++i)
                    rest[i] =
                        k + i < all.steps ? vector::load(all.vectors + (k + i) * all.width + n() * side) : vector(T{0});
                unrolled<Weight_parts>([&](auto part) FOVEA_LAMBDA {
                    auto const pairs = bf16_pairs<Arch>::paired(rest[0], rest[1]);
                    pairs.store(to + part() * plane<N> + n() * side);
                    if constexpr (part() + 1 < Weight_parts) {
                        rest[0] = remainder(rest[0], lower(pairs));
                        rest[1] = remainder(rest[1], upper(pairs));
                    }
                });
            });
    }
    /// What a part leaves of a weight: nothing of one that is not finite.
    FOVEA_INLINE static vector remainder(vector const& weight, vector const& part) {
        auto const rest = weight - part;
        return select(rest == rest, rest, vector(T{0}));
    }

    /// The sums so far times the factors of their queries, unless these are all 1.
    template <int N>
    static void rescale(lane_sums<T> const& all) {
        if (all_ones(all.rescale, N)) return;
        for (index_t f = 0; f < round_up(all.element_count, side); ++f)
            unrolled<N>([&](auto n) FOVEA_LAMBDA {
                T* const at = all.sums + f * all.width + n() * side;
                (vector::load(at) * vector::load(all.rescale + n() * side)).store(at);
            });
    }

    /// O^T of 16 features, or 32, from packed values.
    template <int M, int N>
    static void add_values(element const* values, index_t stride, lane_sums<T> const& all, T const* weights, T* to,
                           prefetch_queue& next) {
        using sums = tiles<M, N>;
        if (all.rescale == nullptr) sums::clear();
        else sums::load(to, all.width);
        for (index_t k = 0; k < all.steps; k += elements) {
            unrolled<M>([&](auto m) FOVEA_LAMBDA {
                unit::template load<sums::left + m()>(values + k * stride + m() * side * elements,
                                                      elements * element_bytes);
            });
            for (int part = 0; part < Weight_parts; ++part)
                sums::multiply(weights + part * plane<N> + k / 2 * N * side, N * side);
            prefetch(next);
        }
        sums::store(to, all.width);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
