// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of keys in a gradient by a matrix unit: rows of queries, weighted by a tile with a query in each lane.
#pragma once

#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/kernel/product/tile_sums.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

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
    static constexpr index_t room(index_t keys, index_t queries) {
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
    /// What a part leaves of a weight: nothing of one that is not finite.
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
