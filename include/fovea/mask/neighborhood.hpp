// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/mask/where.hpp>

#include <cstddef>

namespace fovea::FOVEA_SET {

namespace detail {
/// Within `size` places around a place that keeps away from both ends, so that every query has as many neighbours.
template <class Query, class Key>
constexpr auto is_near(Query const& of_query, Key const& of_key, index_t size, index_t extent) {
    index_t const left = size / 2, right = wrapped_minus(size, 1) / 2;
    auto const center = max(min(of_query, wrapped_minus(wrapped_minus(extent, 1), right)), left);
    return of_key >= center - left && of_key <= center + right;
}
}  // namespace detail

/// neighborhood: positions form a line, a plane or a volume; a query sees a window of places around its own.
///
///     neighborhood({size}, {length})    neighborhood({rows, columns}, {height, width})    three of each
///
/// Shapes: sizes and extents along each axis; positions run row by row, the last axis fastest.
/// Cost: only tiles that contain neighbours are visited; along the slowest axis they form a band.
/// Edge cases: at the borders, windows move inwards and keep their size, so all queries have equally many neighbours;
/// along each axis size / 2 places come before the query's own. A size beyond an extent covers all of it.
/// Errors: std::invalid_argument for a size below 1. At compile time, for more than three axes.
/// Source: Hassani et al. 2023, section 3.1.
template <std::size_t Axes>
constexpr auto neighborhood(index_t const (&size)[Axes], index_t const (&extent)[Axes]) {
    static_assert(Axes >= 1 && Axes <= 3, "fovea: a neighborhood lies on a line, a plane or in a volume");
    using namespace placeholders;
    for (index_t const places : size) detail::require_1_or_more("neighborhood: a size", places);
    if constexpr (Axes == 1) {
        return where(detail::is_near(q_idx, kv_idx, size[0], extent[0]));
    } else if constexpr (Axes == 2) {
        return where(detail::is_near(q_idx / extent[1], kv_idx / extent[1], size[0], extent[0])
                     && detail::is_near(q_idx % extent[1], kv_idx % extent[1], size[1], extent[1]));
    } else {
        index_t const plane = wrapped_times(extent[1], extent[2]);
        return where(detail::is_near(q_idx / plane, kv_idx / plane, size[0], extent[0])
                     && detail::is_near(q_idx % plane / extent[2], kv_idx % plane / extent[2], size[1], extent[1])
                     && detail::is_near(q_idx % extent[2], kv_idx % extent[2], size[2], extent[2]));
    }
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed neighborhood(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
