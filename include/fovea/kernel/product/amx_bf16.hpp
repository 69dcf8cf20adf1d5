// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 operands by a matrix unit, with a query in each lane.
#pragma once

#include <fovea/kernel/lane_products.hpp>
#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/kernel/tile_sums.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/plan/product.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The product of bfloat16 operands by the matrix unit of an architecture: S^T = K Q^T and O^T += V^T P^T, 32 rows by
/// 32 queries in four tiles of sums. Rows of keys and of transposed values are the left operand, pairs of features of
/// queries and pairs of weights the right one, which are packed once for a tile of queries, and once for a block of
/// weights. The factor of a query is applied to its sums; weights are rounded to so many bfloat16, each of what the
/// ones before it leave.
template <class T, class Arch, int Weight_parts>
struct amx_bf16 : amx_packing<T, Arch> {
    using number = T;
    using architecture = Arch;
    using element = bfloat16;
    using shape = plan::matrix_unit_blocking<T, Arch, element, Weight_parts>;
    using unit = matrix_unit<Arch>;
    using scope = typename unit::scope;
    static constexpr bool available = plan::multiplies_in_matrix_unit<T, Arch>;
    static constexpr bool packs_values = true, scales_queries = false;
    /// The parts of queries of other elements: no more than weights have.
    template <class Query>
    static constexpr int query_parts = std::min(plan::weight_parts<Query>, Weight_parts);

    // A tile is loaded only after every earlier store, even a spilled register, has left the processor, and before that
    // all products before it have. So sums alone are stored between the first load and the last, their maximum is
    // found afterwards, and lines are prefetched before.

    static void contract_query_lanes(key_operand<element> const& keys, lane_sums<T> const& all, prefetch_queue& next) {
        if (all.vector_count > shape::nv)
            return for_vectors<shape::nv>(all, side,
                                          [&](lane_sums<T> const& some) { contract_query_lanes(keys, some, next); });
        prefetch(all, next);
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            index_t k = 0;
            for (; k + elements <= all.element_count; k += elements)
                add_keys<vectors()>(keys.from_row(k), all, all.sums + k * all.width);
            if (index_t const left = all.element_count - k; left > 0) {
                T* const to = all.sums + k * all.width;
                if (left > side) add_last_keys<2, vectors()>(keys.from_row(k), left, all, to);
                else add_last_keys<1, vectors()>(keys.from_row(k), left, all, to);
            }
            if (!all_ones(all.scales, vectors())) scale<vectors()>(all);
            if (all.row_max == nullptr) return;
            unrolled<vectors()>([&](auto n) FOVEA_LAMBDA {
                T* const to = all.row_max + n() * side;
                max(max_of_packs<T, Arch>(all.sums + n() * side, all.element_count, all.width), vector::load(to))
                    .store(to);
            });
        });
    }

    /// The step stride of values is that of packed ones, for a key. Weights that are rounded to one element take the
    /// place of the numbers, since more memory would not stay in the L1 cache.
    static void accumulate_query_lanes(value_operand<element> const& values, lane_sums<T> const& all,
                                       prefetch_queue& next) {
        if (all.vector_count > shape::nv)
            return for_vectors<shape::nv>(
                all, side, [&](lane_sums<T> const& some) { accumulate_query_lanes(values, some, next); });
        prefetch(all, next);
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            constexpr bool in_place = Weight_parts == 1;
            alignas(64) c_array<T, in_place ? 1 : Weight_parts * plane<vectors()>> other;
            pairs_of_weights<vectors()> weights{in_place ? all.vectors : &other[0],
                                                in_place ? all.width : index_t{vectors() * side}};
            round_weights<vectors()>(all, weights);
            if (all.rescale != nullptr) rescale<vectors()>(all);
            for (index_t f = 0; f < all.element_count; f += 2 * side) {
                auto const* const from = values.first + f * elements;
                T* const sums = all.sums + f * all.width;
                if (all.element_count - f > side)
                    add_values<2, vectors()>(from, values.step_stride, all, weights, sums);
                else add_values<1, vectors()>(from, values.step_stride, all, weights, sums);
            }
        });
    }

private:
    using packing = amx_packing<T, Arch>;
    using packing::side, packing::elements;
    using typename packing::vector;
    static constexpr index_t element_bytes = sizeof(element), number_bytes = sizeof(T);
    template <int M, int N>
    using tiles = tile_sums<unit, T, M, N>;

    /// Two lines for each product of four tiles.
    FOVEA_INLINE static void prefetch(lane_sums<T> const& all, prefetch_queue& next) {
        index_t const products = ceil_div(all.element_count, 2 * side) * ceil_div(all.steps, elements);
        for (index_t line = 0; line < 2 * products; ++line) next.template prefetch_line<Arch>();
    }

    /// S^T of 32 keys.
    template <int N>
    FOVEA_INLINE static void add_keys(key_operand<element> const& keys, lane_sums<T> const& all, T* to) {
        using sums = tiles<2, N>;
        sums::clear();
        index_t const stride = keys.row_stride * element_bytes;
        for_parts(all, [&](T const* queries) FOVEA_LAMBDA {
            for (index_t f = 0; f < all.steps; f += elements) {
                unit::template load<sums::left>(keys.first + f, stride);
                unit::template load<sums::left + 1>(keys.from_row(side).first + f, stride);
                sums::multiply(queries + f / 2 * all.width, all.width);
            }
        });
        sums::store(to, all.width);
    }
    /// Calls f with the pairs of each part of queries.
    template <class F>
    FOVEA_INLINE static void for_parts(lane_sums<T> const& all, F const& f) {
        for (index_t part = 0; part < all.parts; ++part)
            f(all.vectors + part * (round_up(all.steps, elements) / 2 * all.width));
    }
    /// S^T of fewer keys, and of what is in memory after them up to whole tiles. The rows of a tile that has fewer than
    /// 16 are copied, since there may be no memory after them.
    template <int M, int N>
    [[gnu::noinline]] static void add_last_keys(key_operand<element> const keys, index_t count, lane_sums<T> const& all,
                                                T* to) {
        using sums = tiles<M, N>;
        sums::clear();
        for_parts(all, [&](T const* queries) FOVEA_LAMBDA {
            for (index_t f = 0; f < all.steps; f += elements) {
                unrolled<M>([&](auto m) FOVEA_LAMBDA {
                    auto const* const from = keys.from_row(m() * side).first + f;
                    index_t const rows = count - m() * side;
                    if (rows >= side) unit::template load<sums::left + m()>(from, keys.row_stride * element_bytes);
                    else load_copied<sums::left + m()>(from, keys.row_stride, rows);
                });
                sums::multiply(queries + f / 2 * all.width, all.width);
            }
        });
        sums::store(to, all.width);
    }
    template <int Tile>
    static void load_copied(element const* from, index_t stride, index_t count) {
        alignas(64) c_array<element, side * elements> rows = {};
        for (index_t r = 0; r < count; ++r) std::copy_n(from + r * stride, elements, &rows[r * elements]);
        unit::template load<Tile>(&rows[0], elements * element_bytes);
    }

    /// All sums times the factors of their queries.
    template <int N>
    static void scale(lane_sums<T> const& all) {
        for (index_t k = 0; k < all.element_count; ++k)
            unrolled<N>([&](auto n) FOVEA_LAMBDA {
                T* const at = all.sums + k * all.width + n() * side;
                (vector::load(at) * vector::load(all.scales + n() * side)).store(at);
            });
    }
    FOVEA_INLINE static bool all_ones(T const* factors, int vectors) {
        bool all = true;
        for (int n = 0; n < vectors; ++n) all = all && !(!(vector::load(factors + n * side) == vector(T{1}))).any();
        return all;
    }

    /// The pairs of a part of a block of weights: (block_keys / 2, N * 16).
    template <int N>
    static constexpr index_t plane = shape::block_keys / 2 * N * side;
    template <int N>
    struct pairs_of_weights {
        T* first;  // (parts, block_keys / 2, width)
        index_t width;
    };

    /// Weights of neighbouring keys as pairs, with zeros up to whole tiles.
    template <int N>
    static void round_weights(lane_sums<T> const& all, pairs_of_weights<N> const& weights) {
        auto const round = [&](index_t k, auto const& load) FOVEA_LAMBDA {
            T* const to = weights.first + k / 2 * weights.width;
            unrolled<N>([&](auto n) FOVEA_LAMBDA {
                vector rest[2] = {load(k, n() * side), load(k + 1, n() * side)};
                unrolled<Weight_parts>([&](auto part) FOVEA_LAMBDA {
                    auto const pairs = bf16_pairs<Arch>::paired(rest[0], rest[1]);
                    pairs.store(to + part() * plane<N> + n() * side);
                    if constexpr (part() + 1 < Weight_parts) {
                        rest[0] = packing::remainder(rest[0], packing::lower(pairs));
                        rest[1] = packing::remainder(rest[1], packing::upper(pairs));
                    }
                });
            });
        };
        auto const load = [&](index_t k, index_t lane)
                              FOVEA_LAMBDA { return vector::load(all.vectors + k * all.width + lane); };
        index_t k = 0;
        for (; k + 2 <= all.steps; k += 2) round(k, load);
        for (; k < round_up(all.steps, elements); k += 2)
            round(k, [&](index_t at, index_t lane) { return at < all.steps ? load(at, lane) : vector(T{0}); });
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
    FOVEA_INLINE static void add_values(element const* values, index_t stride, lane_sums<T> const& all,
                                        pairs_of_weights<N> const& weights, T* to) {
        using sums = tiles<M, N>;
        if (all.rescale == nullptr) sums::clear();
        else sums::load(to, all.width);
        for (index_t k = 0; k < all.steps; k += elements) {
            unrolled<M>([&](auto m) FOVEA_LAMBDA {
                unit::template load<sums::left + m()>(values + k * stride + m() * side * elements,
                                                      elements * element_bytes);
            });
            for (int part = 0; part < Weight_parts; ++part)
                sums::multiply(weights.first + part * plane<N> + k / 2 * weights.width, weights.width);
        }
        sums::store(to, all.width);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
