// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with a query in each lane: keys and values are read in place, element by element.
#pragma once

#include <fovea/kernel/outer_product.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/simd/bf16_pairs.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Features of neighbouring keys: the element of row r at step f is feature f of key r.
template <class T>
using key_operand = broadcast_operand<T, index_t, unit_stride>;
/// Features of values, key after key: the element of row r at step k is feature r of the value of key k.
template <class T>
using value_operand = broadcast_operand<T, unit_stride, index_t>;

/// The vectors that a broadcast operand is multiplied by, and the sums of the products.
template <class T>
struct lane_sums {
    index_t vectors, rows, steps;
    T const* lanes;    // (steps, width)
    T* sums;           // (rows, width)
    index_t width;     // of a step, or a row, in elements; the first `vectors` vectors take part
    T const* rescale;  // (vectors * lanes), of values; null where nothing was added before
    T* row_max;        // (vectors * lanes), of keys; or null
};

/// multiply_lanes: rows of broadcast elements multiplied by vectors of queries, in registers.
///
///     sums[k][q] = sum_f keys[k][f] * queries[f][q]                                row_max[q] = max(row_max[q], ...)
///     sums[c][q] = sums[c][q] * rescale[q] + sum_k values[k][c] * weights[k][q]
template <int Rows, int Vectors, class T, class Arch, class Operand>
[[gnu::noinline]] void multiply_lanes(Operand const elements, index_t steps,
                                      T const* FOVEA_RESTRICT lanes,  // (steps, Vectors * lanes)
                                      T* FOVEA_RESTRICT sums,         // (Rows, Vectors * lanes)
                                      index_t width,                  // from one step, or one row, to the next
                                      std::conditional_t<std::is_same_v<Operand, key_operand<T>>, T, T const>*
                                          FOVEA_RESTRICT of_lanes) {  // (Vectors * lanes): row_max, or rescale
    register_tile<Rows, Vectors, T, Arch> tile;
    tile.add_products(number_products{}, elements, vector_operand<T>{lanes, width}, steps);
    if constexpr (std::is_same_v<Operand, key_operand<T>>) {
        tile.store(sums, width);
        if (of_lanes != nullptr) tile.store_max(of_lanes);
    } else {
        if (of_lanes != nullptr) tile.add_scaled_by_lane(sums, width, of_lanes);
        tile.store(sums, width);
    }
}

/// Calls f(vectors) with the number of vectors, at most `Most`, as a constant.
template <int Most, class F>
void with_vectors(index_t vectors, F const& f) {
    if constexpr (Most == 1) f(std::integral_constant<int, 1>{});
    else if (vectors == Most) f(std::integral_constant<int, Most>{});
    else with_vectors<Most - 1>(vectors, f);
}

/// multiply_lanes for any number of rows and of vectors; `next` is prefetched meanwhile.
template <class Tile, class Arch, class T, class Operand>
void multiply_rows(Operand const& elements, lane_sums<T> const& all, prefetch_queue& next) {
    with_vectors<Tile::nv>(all.vectors, [&](auto count) {
        constexpr bool are_values = std::is_same_v<Operand, value_operand<T>>;
        auto* const of_lanes = [&] {
            if constexpr (are_values) return all.rescale;
            else return all.row_max;
        }();
        index_t r = 0;
        auto const multiply = [&](auto at_once) {
            for (; r + at_once() <= all.rows; r += at_once()) {
                next.prefetch_beside(all.steps);
                multiply_lanes<at_once(), count(), T, Arch>(elements.from_row(r), all.steps, all.lanes,
                                                            all.sums + r * all.width, all.width, of_lanes);
            }
        };
        constexpr int most = are_values ? Tile::features_with(count()) : Tile::mr;
        multiply(std::integral_constant<int, most>{});
        multiply(std::integral_constant<int, most / 2>{});
        if constexpr (most > 8) multiply(std::integral_constant<int, most / 4>{});
        multiply(std::integral_constant<int, 1>{});
    });
}

}  // namespace fovea::FOVEA_SET::kernel
