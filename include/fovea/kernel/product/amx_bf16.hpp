// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 operands by a matrix unit, with a query in each lane.
#pragma once

#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/product/bf16_product.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/product.hpp>
#include <fovea/simd/matrix_unit.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The product of bfloat16 operands by the matrix unit of an architecture: S^T = K Q^T and O^T += V^T P^T, 32 rows by
/// 32 queries in four tiles of sums. Rows of keys and of transposed values are the left operand, pairs of features of
/// queries and pairs of weights the right one, which are packed once for a tile of queries, and once for a block of
/// weights. The factor of a query is applied to its sums; weights are rounded to bfloat16.
template <class T, class Arch>
struct amx_bf16 {
    using number = T;
    using architecture = Arch;
    using element = bfloat16;
    using shape = plan::matrix_unit_blocking<T, Arch, element>;
    using unit = matrix_unit<Arch>;
    using scope = typename unit::scope;
    static constexpr bool available = plan::multiplies_in_matrix_unit<T, Arch>;
    static constexpr bool packs_values = true, scales_queries = false;

    /// Queries as pairs of features, a query in each lane, with zeros up to whole tiles.
    template <class Rows>
    static void pack_queries(Rows const& row, transpose_target<T> const& destination) {
        transpose_bf16_pairs<Arch>(row, destination);
        index_t const stride = destination.stride, pairs = bf16_pair_count(destination.features),
                      padded = round_up(destination.features, elements) / 2;
        std::fill_n(destination.first + pairs * stride, (padded - pairs) * stride, T{0});
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
            constexpr int lanes = vectors() * static_cast<int>(side);
            alignas(64) c_array<T, shape::block_keys / 2 * lanes> weights;  // pairs of keys
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
    static constexpr index_t side = tile_rows_of_unit, elements = shape::tile_elements;
    static constexpr index_t element_bytes = sizeof(element), number_bytes = sizeof(T);
    static constexpr int left = 4, right = 6;  // tiles of operands, after those of sums
    static constexpr int sum(int m, int n) { return 2 * m + n; }

    /// Calls f(m, n) for the tiles of M by N.
    template <int M, int N, class F>
    FOVEA_INLINE static void each(F const& f) {
        unrolled<M>([&](auto m) FOVEA_LAMBDA { unrolled<N>([&](auto n) FOVEA_LAMBDA { f(m, n); }); });
    }
    template <int M, int N>
    FOVEA_INLINE static void clear() {
        each<M, N>([](auto m, auto n) FOVEA_LAMBDA { unit::template zero<sum(m(), n())>(); });
    }
    template <int M, int N>
    FOVEA_INLINE static void load(T const* from, index_t width) {
        each<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            unit::template load<sum(m(), n())>(from + m() * side * width + n() * side, width * number_bytes);
        });
    }
    template <int M, int N>
    FOVEA_INLINE static void store(T* to, index_t width) {
        each<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            unit::template store<sum(m(), n())>(to + m() * side * width + n() * side, width * number_bytes);
        });
    }
    /// The right operand, (16, width) pairs, and the products with what has been loaded on the left.
    template <int M, int N>
    FOVEA_INLINE static void multiply(T const* pairs, index_t width, prefetch_queue& next) {
        unrolled<N>([&](auto n)
                        FOVEA_LAMBDA { unit::template load<right + n()>(pairs + n() * side, width * number_bytes); });
        each<M, N>([](auto m, auto n)
                       FOVEA_LAMBDA { unit::template add_products<sum(m(), n()), left + m(), right + n()>(); });
        for (int line = 0; line < 2; ++line) next.prefetch_line<Arch>();
    }

    /// The rows of a left tile. Fewer than 16 are copied, since there may be no memory after them.
    template <int Tile>
    FOVEA_INLINE static void load_keys(element const* from, index_t stride, index_t count) {
        if (count >= side) return unit::template load<Tile>(from, stride * element_bytes);
        alignas(64) element rows[static_cast<std::size_t>(side * elements)] = {};
        for (index_t r = 0; r < count; ++r) std::copy_n(from + r * stride, elements, rows + r * elements);
        unit::template load<Tile>(rows, elements * element_bytes);
    }

    /// S^T of `count` keys, and of what is in memory after them up to whole tiles.
    template <int M, int N>
    static void add_keys(key_operand<element> const& keys, index_t count, lane_sums<T> const& all, T* to,
                         prefetch_queue& next) {
        clear<M, N>();
        for (index_t f = 0; f < all.steps; f += elements) {
            unrolled<M>([&](auto m) FOVEA_LAMBDA {
                load_keys<left + m()>(keys.from_row(m() * side).first + f, keys.row_stride, count - m() * side);
            });
            multiply<M, N>(all.vectors + f / 2 * all.width, all.width, next);
        }
        store<M, N>(to, all.width);
    }

    /// The sums of some keys times the factors of their queries, and the greatest of each query.
    template <int N>
    static void scale(lane_sums<T> const& all, index_t first, index_t count) {
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            auto const factor = vector::load(all.scales + n() * side);
            vector most(-std::numeric_limits<T>::infinity());
            for (index_t k = first; k < first + count; ++k) {
                T* const at = all.sums + k * all.width + n() * side;
                auto const score = vector::load(at) * factor;
                score.store(at);
                most = max(score, most);
            }
            if (all.row_max == nullptr) return;
            T* const to = all.row_max + n() * side;
            max(most, vector::load(to)).store(to);
        });
    }

    /// Weights of neighbouring keys as pairs, with zeros up to whole tiles: (round_up(keys, 32) / 2, N * 16).
    template <int N>
    static void round_weights(lane_sums<T> const& all, T* to) {
        using pairs_of = bf16_pairs<Arch>;
        for (index_t k = 0; k < round_up(all.steps, elements); k += 2, to += N * side) {
            auto const rounded = [&](index_t key) FOVEA_LAMBDA {
                T const* const from = all.vectors + key * all.width;
                vector const zero(T{0});
                if (key >= all.steps) return zero;
                return pairs_of::rounded(vector::load(from), N == 2 ? vector::load(from + (N - 1) * side) : zero);
            };
            vector pairs[2];
            pairs_of::interleaved(rounded(k), rounded(k + 1), pairs);
            unrolled<N>([&](auto n) FOVEA_LAMBDA { pairs[n()].store(to + n() * side); });
        }
    }

    /// The sums so far times the factors of their queries, unless these are all 1.
    template <int N>
    static void rescale(lane_sums<T> const& all) {
        if (std::all_of(all.rescale, all.rescale + N * side, [](T x) { return x == T{1}; })) return;
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
        if (all.rescale == nullptr) clear<M, N>();
        else load<M, N>(to, all.width);
        for (index_t k = 0; k < all.steps; k += elements) {
            unrolled<M>([&](auto m) FOVEA_LAMBDA {
                unit::template load<left + m()>(values + k * stride + m() * side * elements, elements * element_bytes);
            });
            multiply<M, N>(weights + k / 2 * N * side, N * side, next);
        }
        store<M, N>(to, all.width);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
