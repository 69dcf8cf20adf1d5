// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows at equal distances: what every source of keys and values can be read as, piece by piece.
#pragma once

#include <fovea/core/view.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

/// row_run: `count` rows of one head, each `stride` elements after the one before.
template <class Element>
struct row_run {
    Element const* first;
    index_t stride;
    index_t count;
};

/// The rows of a head from a position on that lie at equal distances: all that follow in a view; what follows in the
/// page of that position where rows lie in pages.
template <class T>
constexpr row_run<std::remove_const_t<T>> rows_from(view<T, 4> const& rows, index_t batch, index_t head,
                                                    index_t position) {
    return {rows.place(batch, head, position, index_t{0}), rows.stride(2), rows.extent(2) - position};
}
template <class Rows>
    requires requires(Rows const& rows, index_t at) { rows.rows_from(at, at, at); }
constexpr auto rows_from(Rows const& rows, index_t batch, index_t head, index_t position) {
    return rows.rows_from(batch, head, position);
}

/// evenly_spaced: rows of which all of a head lie at equal distances.
template <class Rows>
concept evenly_spaced = requires(Rows const& rows) {
    { rows.stride(1) } -> std::same_as<index_t>;
};

/// The fewest rows that lie at equal distances but at the end, counted from position 0: all of a head in a view.
template <class Rows>
constexpr index_t rows_per_run(Rows const& rows) {
    if constexpr (evenly_spaced<Rows>) return rows.extent(2);
    else return rows.rows_per_run();
}

}  // namespace fovea::FOVEA_SET
