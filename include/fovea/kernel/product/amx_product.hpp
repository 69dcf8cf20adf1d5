// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product of the matrix unit, for bfloat16 and for numbers split into several bfloat16; queries in lanes. In a
// gradient: sums over queries for keys.
#pragma once

#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/kernel/product/amx_vectors.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// The product of bfloat16 operands by the matrix unit of an architecture: S^T = K Q^T and O^T += V^T P^T, 32 rows by
/// 32 queries in four tiles of sums. Rows of keys and of transposed values are the left operand, pairs of features of
/// queries and pairs of weights the right one, which are packed once for a tile of queries, and once for a block of
/// weights. The factor of a query is applied to its sums.
///
/// Where numbers are several parts, each of what the ones before it leave, the products of the first parts are added
/// last, to all others; sums of values and weights are then those of a block alone, which are added to O^T as vectors.
template <class T, class Arch, class Parts>
struct amx_bf16 : amx_vectors<T, Arch, Parts> {
    using amx_vectors<T, Arch, Parts>::side, amx_vectors<T, Arch, Parts>::elements;
    using number = T;
    using architecture = Arch;
    using element = bfloat16;
    using blocking = plan::matrix_unit_blocking<T, Arch, element, Parts>;
    using unit = matrix_unit<Arch>;
    using scope = typename unit::scope;
    static constexpr bool available = plan::multiplies_in_matrix_unit<T, Arch, 0>;
    static constexpr bool packs_values = true, scales_queries = false;
    /// Planes of queries of other elements than these parts are for, such as the gradients of results: no more than
    /// weights have.
    template <class Query>
    static constexpr int query_planes = [] {
        constexpr int most = std::min(plan::parts_of<Query>, Parts::weight);
        return most > Parts::query ? most : 1;
    }();
    template <int Planes>
    using packing_in_planes = amx_packing<T, Arch, plan::parts_of_operands<Planes>>;

    // A tile is loaded only after every earlier store, even a spilled register, has left the processor, and before that
    // all products before it have. So sums alone are stored between the first load and the last, their maximum is
    // found afterwards, and lines are prefetched before.

    static void contract_query_lanes(key_operand<element> const& keys, lane_sums<T> const& all, prefetch_queue& next) {
        if (all.vector_count > blocking::nv)
            return for_vectors<blocking::nv>(all, side,
                                             [&](lane_sums<T> const& some) { contract_query_lanes(keys, some, next); });
        prefetch<products_of_parts<Parts::key, Parts::query, Parts::of_scores>>(all.element_count, all.steps, next);
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            index_t k = 0;
            for (; k + elements <= all.element_count; k += elements)
                add_keys<2, vectors()>(keys.from_row(k), all, all.sums + k * all.width);
            if (index_t const left = all.element_count - k; left > 0) {
                T* const to = all.sums + k * all.width;
                if (left > side) add_last_keys<2, vectors()>(keys.from_row(k), left, all, to);
                else add_last_keys<1, vectors()>(keys.from_row(k), left, all, to);
            }
            if (!beside::all_ones(all.scales, vectors())) beside::template scale<vectors()>(all);
            if constexpr (Parts::several_in_scores) {
                if (beside::template find_maxima_if_finite<vectors()>(all)) return;
                beside::template contract_again<vectors()>(keys, all);
            }
            beside::template find_maxima<vectors()>(all);
        });
    }

    /// The step stride of values is that of packed ones, for a key. Weights that are rounded to one element take the
    /// place of the numbers, since more memory would not stay in the L1 cache.
    static void accumulate_query_lanes(value_operand<element> const& values, lane_sums<T> const& all,
                                       prefetch_queue& next) {
        if (all.vector_count > blocking::nv)
            return for_vectors<blocking::nv>(
                all, side, [&](lane_sums<T> const& some) { accumulate_query_lanes(values, some, next); });
        prefetch<products_of_parts<Parts::value, Parts::weight, Parts::of_values>>(all.element_count, all.steps, next);
        with_vectors<2>(all.vector_count, [&](auto vectors) {
            if constexpr (Parts::several_in_values) {
                alignas(64) c_array<T, Parts::weight * beside::template plane<vectors()>> pairs;
                pairs_of_weights<vectors()> const weights{&pairs[0], vectors() * side};
                beside::template round_weights<vectors()>(all, weights);
                add_blocks<vectors()>(values, all, weights);
            } else {
                pairs_of_weights<vectors()> const weights{all.vectors, all.width};
                beside::template round_weights<vectors()>(all, weights);
                if (all.rescale != nullptr) beside::template rescale<vectors()>(all);
                for (index_t f = 0; f < all.element_count; f += 2 * side)
                    add_values<vectors()>(values, all, weights, f, all.sums + f * all.width, all.width,
                                          all.rescale != nullptr);
            }
        });
    }

private:
    using beside = amx_vectors<T, Arch, Parts>;
    using typename beside::vector;
    template <int N>
    using pairs_of_weights = typename beside::template pairs_of_weights<N>;
    static constexpr index_t element_bytes = sizeof(element);
    template <int M, int N>
    using tiles = tile_sums<unit, T, M, N>;

    /// Two lines for each product of four tiles.
    template <int Products>
    FOVEA_INLINE static void prefetch(index_t rows, index_t steps, prefetch_queue& next) {
        index_t lines = 2 * Products * ceil_div(rows, 2 * side) * ceil_div(steps, elements);
        while (lines-- > 0) next.template prefetch_line<Arch>();
    }

    /// Adds the products of parts for `steps` elements: load_left(part, step) loads the left tiles, pairs(part, step)
    /// are the right ones.
    template <class Sums, int Left, int Right, int Kept, class LoadLeft, class PairsAt>
    FOVEA_INLINE static void add_parts(index_t steps, LoadLeft const& load_left, PairsAt const& pairs, index_t width) {
        auto const add = [&](index_t i, auto left, auto right, auto loads_left, auto loads_right) FOVEA_LAMBDA {
            if constexpr (loads_left()) load_left(left(), i);
            if constexpr (loads_right()) Sums::load_right(pairs(right(), i), width);
            Sums::multiply();
        };
        if constexpr (products_of_parts<Left, Right, Kept> > 1)
            for (index_t i = 0; i < steps; i += elements)
                for_each_small_product<Left, Right, Kept>([&](auto... product) FOVEA_LAMBDA { add(i, product...); });
        for (index_t i = 0; i < steps; i += elements) {
            load_left(0, i);
            Sums::load_right(pairs(0, i), width);
            Sums::multiply();
        }
    }

    /// S^T of 16 M keys, whose tiles load_left(part, feature) loads.
    template <int M, int N, class LoadLeft>
    FOVEA_INLINE static void add_scores(LoadLeft const& load_left, lane_sums<T> const& all, T* to) {
        using sums = tiles<M, N>;
        sums::clear();
        index_t const of_part = round_up(all.steps, elements) / 2 * all.width;
        for (index_t plane = 0; plane < all.planes; ++plane)
            add_parts<sums, Parts::key, Parts::query, Parts::of_scores>(
                all.steps, load_left,
                [&](index_t part, index_t f)
                    FOVEA_LAMBDA { return all.vectors + (plane + part) * of_part + f / 2 * all.width; },
                all.width);
        sums::store(to, all.width);
    }
    /// S^T of 16 M keys.
    template <int M, int N>
    FOVEA_INLINE static void add_keys(key_operand<element> const& keys, lane_sums<T> const& all, T* to) {
        constexpr int left = tiles<M, N>::left;
        index_t const stride = keys.row_stride * element_bytes, of_part = round_up(all.steps, elements);
        auto const* const second = keys.from_row(side).first;
        add_scores<M, N>(
            [&](index_t part, index_t f) FOVEA_LAMBDA {
                unit::template load<left>(keys.first + part * of_part + f, stride);
                if constexpr (M == 2) unit::template load<left + 1>(second + part * of_part + f, stride);
            },
            all, to);
    }
    /// S^T of fewer keys, and of what is in memory after them up to whole tiles. The rows of a tile that has fewer than
    /// 16 are copied, since there may be no memory after them, unless all keys are copies.
    template <int M, int N>
    [[gnu::noinline]] static void add_last_keys(key_operand<element> const keys, index_t count, lane_sums<T> const& all,
                                                T* to) {
        if constexpr (Parts::key > 1) {
            add_keys<M, N>(keys, all, to);
        } else {
            constexpr int left = tiles<M, N>::left;
            add_scores<M, N>(
                [&](index_t, index_t f) FOVEA_LAMBDA {
                    unrolled<M>([&](auto m) FOVEA_LAMBDA {
                        auto const* const from = keys.from_row(m() * side).first + f;
                        index_t const rows = count - m() * side;
                        if (rows >= side) unit::template load<left + m()>(from, keys.row_stride * element_bytes);
                        else load_copied<left + m()>(from, keys.row_stride, rows);
                    });
                },
                all, to);
        }
    }
    template <int Tile>
    static void load_copied(element const* from, index_t stride, index_t count) {
        alignas(64) c_array<element, side * elements> rows = {};
        for (index_t r = 0; r < count; ++r) std::copy_n(from + r * stride, elements, &rows[r * elements]);
        unit::template load<Tile>(&rows[0], elements * element_bytes);
    }

    /// O^T of 32 features from one on, or of 16 where there are no more, from packed values.
    template <int N>
    FOVEA_INLINE static void add_values(value_operand<element> const& values, lane_sums<T> const& all,
                                        pairs_of_weights<N> const& weights, index_t first, T* to, index_t width,
                                        bool adds) {
        if (all.element_count - first > side) add_tiles<2, N>(values, all, weights, first, to, width, adds);
        else add_tiles<1, N>(values, all, weights, first, to, width, adds);
    }
    template <int M, int N>
    FOVEA_INLINE static void add_tiles(value_operand<element> const& values, lane_sums<T> const& all,
                                       pairs_of_weights<N> const& weights, index_t first, T* to, index_t width,
                                       bool adds) {
        using sums = tiles<M, N>;
        if (adds) sums::load(to, width);
        else sums::clear();
        index_t const of_part = round_up(all.element_count, elements) * elements;
        auto const* const from = values.first + first * elements;
        add_parts<sums, Parts::value, Parts::weight, Parts::of_values>(
            all.steps,
            [&](index_t part, index_t k) FOVEA_LAMBDA {
                unrolled<M>([&](auto m) FOVEA_LAMBDA {
                    unit::template load<sums::left + m()>(
                        from + k * values.step_stride + part * of_part + m() * side * elements,
                        elements * element_bytes);
                });
            },
            [&](index_t part, index_t k)
                FOVEA_LAMBDA { return weights.first + part * beside::template plane<N> + k / 2 * weights.width; },
            weights.width);
        sums::store(to, width);
    }

    /// O^T of all features: the sums of this block, some features at a time, are added to those before it.
    template <int N>
    static void add_blocks(value_operand<element> const& values, lane_sums<T> const& all,
                           pairs_of_weights<N> const& weights) {
        constexpr index_t at_once = 4 * side, width = N * side;
        alignas(64) c_array<T, at_once * width> block;
        for (index_t first = 0; first < all.element_count; first += at_once) {
            index_t const last = std::min(first + at_once, round_up(all.element_count, side));
            for (index_t f = first; f < last; f += 2 * side)
                add_values<N>(values, all, weights, f, &block[(f - first) * width], width, false);
            for (index_t f = first; f < last; ++f)
                for (index_t lane = 0; lane < width; lane += side) {
                    auto sum = vector::load(&block[(f - first) * width + lane]);
                    if (!beside::finite(sum)) sum = beside::accumulate_again(values, all, f, lane, sum);
                    T* const to = all.sums + f * all.width + lane;
                    if (all.rescale != nullptr) sum = fma(vector::load(to), vector::load(all.rescale + lane), sum);
                    sum.store(to);
                }
        }
    }
};

/// sums[k][c] += sum_q weights[k][q] factors[q] rows[q][c], of queries in whole vectors.
template <class T>
struct key_sums_of_tile {
    index_t keys, features;
    index_t first_query, last_query;  // lanes of whole vectors
    index_t queries;                  // that exist; the weights of others may be anything
    T const* weights;                 // (keys, width), from query 0 on
    index_t width;
    T const* factors;   // (last_query); or null
    T const* rows;      // pairs of neighbouring queries, from query 0 on: (row_parts, row_plane), with planes of
    index_t row_width;  // (round_up(last_query, 32) / 2, row_width)
    index_t row_parts, row_plane;
    T* sums;  // (round_up(keys, 16), row_width)
};

/// The product of the matrix unit of an architecture whose sums are rows of keys: dV += P^T dO and dK += dS^T Q, 32
/// keys by 32 features in four tiles of sums. The left operand are rows of weights, rounded to so many bfloat16 in
/// order, the right one pairs of neighbouring rows of queries, a feature in each lane, which are packed once for a tile
/// of queries. Rows may be sums of parts too; products smaller than those of the last part of a weight are left out.
template <class T, class Arch, class Parts>
struct amx_key_sums : amx_packing<T, Arch, Parts> {
    using packing = amx_packing<T, Arch, Parts>;
    using packing::side, packing::elements;
    using typename packing::element, typename packing::vector;
    using unit = matrix_unit<Arch>;

    /// Elements of the memory in which weights are rounded.
    static constexpr index_t scratch_elements(index_t keys, index_t queries) {
        return Parts::weight * round_up(keys, side) * round_up(queries, elements);
    }

    /// Pairs of `count` rows, with zeros up to `padded` rows: row(r) has so many elements.
    template <class Rows>
    static void pack_rows(Rows const& row, index_t count, index_t padded, index_t features, T* to, index_t width) {
        for (index_t r = 0; r < padded; r += 2, to += width) {
            if (r < count) interleave_rows<Arch>(row(r), r + 1 < count ? row(r + 1) : nullptr, features, to);
            else std::fill_n(to, width, T{0});
        }
    }

    /// The same of rows of numbers, (count, width), in so many parts: (parts, plane).
    template <int Planes>
    static void pack_numbers(T const* rows, index_t count, index_t padded, T* to, index_t width, index_t plane) {
        auto const load = [&](index_t r, index_t c)
                              FOVEA_LAMBDA { return r < count ? vector::load(rows + r * width + c) : vector(T{0}); };
        for (index_t r = 0; r < padded; r += 2, to += width)
            for (index_t c = 0; c < width; c += side)
                bf16_parts<T, Arch, Planes>::split(load(r, c), load(r + 1, c),
                                                   [&](auto part, vector const& both)
                                                       FOVEA_LAMBDA { both.store(to + c + part() * plane); });
    }

    /// Weights are rounded first: nothing else is stored between the loads of a tile of sums and its store.
    static void add(key_sums_of_tile<T> const& all, element* rounded) {
        round_weights(all, rounded);
        for (index_t k = 0; k < all.keys; k += 2 * side) {
            element const* const left = rounded + k * elements;
            if (all.keys - k > side) add_rows<2>(all, left, all.sums + k * all.row_width);
            else add_rows<1>(all, left, all.sums + k * all.row_width);
        }
    }

private:
    using parts = bf16_parts<T, Arch, 1>;
    static index_t first_step(key_sums_of_tile<T> const& all) { return all.first_query / elements; }
    static index_t steps(key_sums_of_tile<T> const& all) {
        return ceil_div(all.last_query, elements) - first_step(all);
    }

    /// The rows of so many tiles of keys.
    template <int M>
    FOVEA_INLINE static void add_rows(key_sums_of_tile<T> const& all, element const* left, T* to) {
        for (index_t f = 0; f < all.features; f += 2 * side) {
            if (all.features - f > side) add_tiles<M, 2>(all, left, f, to + f);
            else add_tiles<M, 1>(all, left, f, to + f);
        }
    }
    template <int M, int N>
    FOVEA_INLINE static void add_tiles(key_sums_of_tile<T> const& all, element const* left, index_t feature, T* to) {
        using sums = tile_sums<unit, T, M, N>;
        index_t const plane = round_up(all.keys, side) * elements;
        T const* right = all.rows + first_step(all) * side * all.row_width + feature;
        sums::load(to, all.row_width);
        for (index_t step = steps(all); step > 0; --step, right += side * all.row_width, left += Parts::weight * plane)
            for (index_t of_rows = 0; of_rows < all.row_parts; ++of_rows) {
                sums::load_right(right + of_rows * all.row_plane, all.row_width);
                for (index_t part = 0; part + of_rows < Parts::weight; ++part) {
                    unrolled<M>([&](auto m) FOVEA_LAMBDA {
                        unit::template load<sums::left + m()>(left + part * plane + m() * side * elements,
                                                              elements * index_t{sizeof(element)});
                    });
                    sums::multiply();
                }
            }
        sums::store(to, all.row_width);
    }

    /// Rows of 32 weights: (steps, parts, round_up(keys, 16), 32), with zeros for keys and queries that do not exist.
    static void round_weights(key_sums_of_tile<T> const& all, element* to) {
        index_t const plane = round_up(all.keys, side) * elements;
        for (index_t step = 0; step < steps(all); ++step, to += Parts::weight * plane) {
            index_t const query = (first_step(all) + step) * elements;
            bool const whole = query >= all.first_query && query + elements <= std::min(all.last_query, all.queries);
            if (whole) round_rows<true>(all, query, to, plane);
            else round_rows<false>(all, query, to, plane);
            for (int part = 0; part < Parts::weight; ++part)
                std::fill(to + part * plane + all.keys * elements, to + (part + 1) * plane, element{});
        }
    }
    /// The rest of a weight after a split: nothing of one that is not finite.
    FOVEA_INLINE static vector remainder(vector const& weight, vector const& part) {
        auto const rest = weight - part;
        return select(rest == rest, rest, vector(T{0}));
    }
    template <bool Whole>
    static void round_rows(key_sums_of_tile<T> const& all, index_t query, element* to, index_t plane) {
        for (index_t k = 0; k < all.keys; ++k, to += elements) {
            vector rest[2] = {weights<Whole>(all, k, query), weights<Whole>(all, k, query + side)};
            unrolled<Parts::weight>([&](auto part) FOVEA_LAMBDA {
                bf16_pairs<Arch>::store(bf16_pairs<Arch>::rounded(rest[0], rest[1]), to + part() * plane);
                if constexpr (part() + 1 < Parts::weight) {
                    auto const both = bf16_pairs<Arch>::paired(rest[0], rest[1]);
                    rest[0] = remainder(rest[0], parts::lower(both));
                    rest[1] = remainder(rest[1], parts::upper(both));
                }
            });
        }
    }
    /// The weights of a key and a vector of queries: without those that take no part, unless all do.
    template <bool Whole>
    FOVEA_INLINE static vector weights(key_sums_of_tile<T> const& all, index_t key, index_t query) {
        auto const weight = [&]() FOVEA_LAMBDA {
            auto const of_key = vector::load(all.weights + key * all.width + query);
            return all.factors == nullptr ? of_key : of_key * vector::load(all.factors + query);
        };
        if constexpr (Whole) return weight();
        else {
            if (query < all.first_query || query >= std::min(all.last_query, all.queries)) return vector(T{0});
            return select(vector::iota() < vector(static_cast<T>(all.queries - query)), weight(), vector(T{0}));
        }
    }
};

}  // namespace fovea::FOVEA_SET::kernel
