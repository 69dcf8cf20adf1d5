// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic beside the tiles of a matrix unit: sums in tiles, two by two; maxima, scaling and pairs of weights in
// vectors; sums of splits that are not finite, computed again.
#pragma once

#include <fovea/kernel/product/amx_packing.hpp>
#include <fovea/kernel/product/lane_products.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/matrix_unit.hpp>
#include <fovea/simd/unrolled.hpp>

#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// Calls f(m, n) for M by N constants.
template <int M, int N, class F>
FOVEA_INLINE void each_of(F const& f) {
    unrolled<M>([&](auto m) FOVEA_LAMBDA { unrolled<N>([&](auto n) FOVEA_LAMBDA { f(m, n); }); });
}

/// M by N tiles of sums, which are (16 M, width) in memory. Each tile of an operand is loaded once for two of them: the
/// left ones by the caller, to `left` and the tile after it.
template <class Unit, class T, int M, int N>
    requires(M <= 2 && N <= 2)
struct tile_sums {
    static constexpr int left = 4, right = 6;

    FOVEA_INLINE static void clear() {
        each_of<M, N>([](auto m, auto n) FOVEA_LAMBDA { Unit::template zero<sum(m(), n())>(); });
    }
    FOVEA_INLINE static void load(T const* from, index_t width) {
        each_of<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            Unit::template load<sum(m(), n())>(from + place(m(), n(), width), width * number_bytes);
        });
    }
    FOVEA_INLINE static void store(T* to, index_t width) {
        each_of<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            Unit::template store<sum(m(), n())>(to + place(m(), n(), width), width * number_bytes);
        });
    }
    /// The right tiles, of pairs of elements: (16, width).
    FOVEA_INLINE static void load_right(T const* pairs, index_t width) {
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            Unit::template load<right + n()>(pairs + place(0, n(), width), width * number_bytes);
        });
    }
    /// Adds the products of the left and the right tiles.
    FOVEA_INLINE static void multiply() {
        each_of<M, N>([](auto m, auto n)
                          FOVEA_LAMBDA { Unit::template add_products<sum(m(), n()), left + m(), right + n()>(); });
    }

private:
    static constexpr index_t number_bytes = sizeof(T);
    static constexpr int sum(int m, int n) { return 2 * m + n; }
    static constexpr index_t place(int m, int n, index_t width) {
        return m * tile_rows_of_unit * width + n * tile_row_bytes / number_bytes;
    }
};

/// An infinite number times a part that is 0, or two products of parts beyond all numbers, make NaN of what the
/// definition may give a number: sums of parts that are not finite are computed again, of the packed numbers, each
/// being the sum of its parts.
template <class T, class Arch, class Parts>
struct amx_numbers : amx_packing<T, Arch, Parts> {
    using packing = amx_packing<T, Arch, Parts>;
    using packing::side, packing::elements;
    using typename packing::element, typename packing::vector;

    FOVEA_INLINE static bool finite(vector const& x) {
        return !(!(abs(x) <= vector(std::numeric_limits<T>::max()))).any();
    }

    /// Those of S^T.
    template <int N>
    [[gnu::cold, gnu::noinline]] static void contract_again(key_operand<element> const keys, lane_sums<T> const& all) {
        index_t const features = round_up(all.steps, elements), plane = features / 2 * all.width;
        for (index_t k = 0; k < all.element_count; ++k)
            for (index_t lane = 0; lane < N * side; lane += side) {
                T* const at = all.sums + k * all.width + lane;
                auto const by_parts = vector::load(at);
                if (finite(by_parts)) continue;
                auto const scale = vector::load(all.scales + lane);
                vector sum(T{0});
                for (index_t f = 0; f < all.steps; ++f) {
                    T key{0};
                    for (index_t part = 0; part < Parts::key; ++part)
                        key += static_cast<T>(keys.from_row(k).first[part * features + f]);
                    vector query(T{0});
                    for (index_t part = 0; part < Parts::query; ++part) {
                        auto const pairs = vector::load(all.vectors + part * plane + f / 2 * all.width + lane);
                        query = query + (f % 2 == 0 ? parts::lower(pairs) : parts::upper(pairs));
                    }
                    sum = fma(vector(key), query * scale, sum);
                }
                replaced(by_parts, sum).store(at);
            }
    }
    /// One vector of O^T, of the weights and values of a block.
    [[gnu::cold, gnu::noinline]] static vector accumulate_again(value_operand<element> const values,
                                                                lane_sums<T> const& all, index_t feature, index_t lane,
                                                                vector const by_parts) {
        vector sum(T{0});
        for (index_t k = 0; k < all.steps; ++k)
            sum = fma(vector::load(all.vectors + k * all.width + lane),
                      vector(packing::value_at(values.first, values.step_stride, k, feature)), sum);
        return replaced(by_parts, sum);
    }

private:
    using parts = bf16_parts<T, Arch, 1>;
    static vector replaced(vector const& by_parts, vector const& by_numbers) {
        return select(abs(by_parts) <= vector(std::numeric_limits<T>::max()), by_parts, by_numbers);
    }
};

/// Before and after products of a tile of queries, of N vectors each.
template <class T, class Arch, class Parts>
struct amx_vectors : amx_numbers<T, Arch, Parts> {
    using numbers = amx_numbers<T, Arch, Parts>;
    using blocking = plan::matrix_unit_blocking<T, Arch, bfloat16, Parts>;
    using numbers::side, numbers::elements;
    using typename numbers::vector;

    /// The maximum of each row, if it is asked for, and whether all sums are finite: there is no maximum otherwise.
    template <int N>
    static bool find_maxima_if_finite(lane_sums<T> const& all) {
        c_array<vector, N> greatest;
        bool finite = true;
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            finite = max_of_finite_packs<T, Arch>(all.sums + n() * side, all.element_count, all.width, greatest[n()])
                  && finite;
        });
        if (finite && all.row_max != nullptr) store_maxima<N>(all, greatest);
        return finite;
    }
    /// The maximum of each row, if it is asked for.
    template <int N>
    static void find_maxima(lane_sums<T> const& all) {
        if (all.row_max == nullptr) return;
        c_array<vector, N> greatest;
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            greatest[n()] = max_of_packs<T, Arch>(all.sums + n() * side, all.element_count, all.width);
        });
        store_maxima<N>(all, greatest);
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
    static constexpr index_t plane = blocking::block_keys / 2 * N * side;
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
                bf16_parts<T, Arch, Parts::weight>::split_unprotected(
                    load(k, n() * side), load(k + 1, n() * side), [&](auto part, vector const& pairs) FOVEA_LAMBDA {
                        pairs.store(to + part() * plane<N> + n() * side);
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

private:
    template <int N>
    FOVEA_INLINE static void store_maxima(lane_sums<T> const& all, c_array<vector, N> const& greatest) {
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            T* const to = all.row_max + n() * side;
            max(vector::load(to), greatest[n()]).store(to);
        });
    }
};

}  // namespace fovea::FOVEA_SET::kernel
