// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with a query in each lane: keys and values are read in place, element by element.
#pragma once

#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/product/outer_product.hpp>

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
    index_t vector_count, element_count, steps;  // elements of each step: of keys, or of a value
    T* vectors;                                  // (steps, width); weights may be written over
    T* sums;                                     // (element_count, width)
    index_t width;              // from step to step, and from sum to sum; the first `vector_count` vectors take part
    T const* rescale;           // (vector_count * lanes), of values; null where nothing was added before
    T* row_max;                 // (vector_count * lanes), of keys; or null
    T const* scales = nullptr;  // (vector_count * lanes), of keys, for products that apply them to sums
    index_t planes = 1;         // of vectors, whose sum is multiplied by keys, for products that take several
};

/// Calls f(sums) for a number of vectors after the other; `lanes` are those of a vector.
template <index_t Vectors, class T, class F>
FOVEA_INLINE void for_vectors(lane_sums<T> const& all, index_t lanes, F const& f) {
    for (index_t v = 0; v < all.vector_count; v += Vectors) {
        auto const from = [&](auto* of_lanes) { return of_lanes == nullptr ? nullptr : of_lanes + v * lanes; };
        f(lane_sums<T>{std::min(all.vector_count - v, Vectors), all.element_count, all.steps, from(all.vectors),
                       from(all.sums), all.width, from(all.rescale), from(all.row_max), from(all.scales), all.planes});
    }
}

/// multiply_lanes: rows of broadcast elements multiplied by vectors of queries, in registers. Lines of `next` are
/// prefetched meanwhile.
///
///     sums[k][q] = sum_f keys[k][f] * queries[f][q]                                row_max[q] = max(row_max[q], ...)
///     sums[c][q] = sums[c][q] * rescale[q] + sum_k values[k][c] * weights[k][q]
template <int Elements, int Vectors, class T, class Arch, class Operand>
[[gnu::noinline]] void multiply_lanes(Operand const elements, index_t steps,
                                      T const* FOVEA_RESTRICT vectors,  // (steps, Vectors * lanes)
                                      T* FOVEA_RESTRICT sums,           // (Elements, Vectors * lanes)
                                      index_t width,                    // from step to step, and from sum to sum
                                      std::conditional_t<std::is_same_v<Operand, key_operand<T>>, T, T const>*
                                          FOVEA_RESTRICT row_max_or_rescale,  // (Vectors * lanes)
                                      prefetch_queue& next) {
    register_tile<Elements, Vectors, T, Arch> tile;
    tile.add_products_and_prefetch(number_products{}, elements, vector_operand<T>{vectors, width}, steps, next);
    if constexpr (std::is_same_v<Operand, key_operand<T>>) {
        tile.store(sums, width);
        if (row_max_or_rescale != nullptr) tile.store_max(row_max_or_rescale);
    } else {
        if (row_max_or_rescale != nullptr) tile.add_scaled_by_lane(sums, width, row_max_or_rescale);
        tile.store(sums, width);
    }
}

/// Calls f(count) with the number of vectors, at most `Most`, as a constant.
template <int Most, class F>
void with_vectors(index_t count, F const& f) {
    if constexpr (Most == 1) f(std::integral_constant<int, 1>{});
    else if (count == Most) f(std::integral_constant<int, Most>{});
    else with_vectors<Most - 1>(count, f);
}

/// multiply_lanes for any number of elements and of vectors; `next` is prefetched meanwhile.
template <class Tile, class Arch, class T, class Operand>
void multiply_in_tiles(Operand const& elements, lane_sums<T> const& all, prefetch_queue& next) {
    constexpr bool are_values = std::is_same_v<Operand, value_operand<T>>;
    auto* const row_max_or_rescale = [&] {
        if constexpr (are_values) return all.rescale;
        else return all.row_max;
    }();
    for (index_t begin = 0; begin < all.vector_count; begin += Tile::nv)
        with_vectors<Tile::nv>(std::min<index_t>(all.vector_count - begin, Tile::nv), [&](auto vectors) {
            constexpr int most = are_values ? Tile::features_with(vectors()) : Tile::mr, fewer = Tile::fewer_than(most);
            index_t const lane = begin * Tile::lanes;
            index_t first = 0;
            auto const multiply = [&](auto at_once, index_t last) {
                for (; first + at_once() <= last; first += at_once())
                    multiply_lanes<at_once(), vectors(), T, Arch>(
                        elements.from_row(first), all.steps, all.vectors + lane, all.sums + first * all.width + lane,
                        all.width, row_max_or_rescale == nullptr ? nullptr : row_max_or_rescale + lane, next);
            };
            index_t const left = all.element_count % most;
            bool const divides_better = (left + most) % fewer < left % fewer;  // 8 = 4 + 4, not 6 + 1 + 1
            multiply(std::integral_constant<int, most>{}, all.element_count - left - (divides_better ? most : 0));
            multiply(std::integral_constant<int, fewer>{}, all.element_count);
            if constexpr (fewer > 4) multiply(std::integral_constant<int, fewer / 2>{}, all.element_count);
            multiply(std::integral_constant<int, 1>{}, all.element_count);
        });
}

}  // namespace fovea::FOVEA_SET::kernel
