// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where rows of keys and values come from: what lies in memory is read as runs of rows at equal distances, anything
// else is loaded.
#pragma once

#include <fovea/core/containers.hpp>
#include <fovea/core/view.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// row_run: `count` rows of one head, each `stride` elements after the one before.
template <class Element>
struct row_run {
    Element const* first;
    index_t stride;
    index_t count;
};

/// row_range: adjacent rows of one head.
struct row_range {
    index_t batch, head, first, last;
};

/// loaded_rows: a source whose rows do not lie in memory as numbers: stored in fewer bits, with scales, or computed.
///
///     value_type                      of its numbers: float or double
///     extents, extent(axis)           (batch, head, position, feature)
///     source(b, h, n, c)              a number
///     source.load(rows, to, stride)   writes these rows as numbers of the type of `to`: (rows, stride)
///     source.finite(rows)             whether all of them are finite
///     source.for_each_array(visit)    visit(view, what) for each array that it reads; `what` ends "key's ..."
template <class S>
concept loaded_rows = requires(S const& source, row_range const& rows, index_t i, float* to) {
    typename S::value_type;
    { source.extents } -> std::convertible_to<extents_t<4>>;
    { source(i, i, i, i) } -> std::convertible_to<typename S::value_type>;
    source.load(rows, to, i);
    { source.finite(rows) } -> std::convertible_to<bool>;
    source.for_each_array([](auto const&, char const*) {});
};

/// scaled_integers: loaded rows that are integers in memory, with scales in memory.
///
///     numbers, scales    rows: (batch, head, position, feature), (batch, head, position, feature / block)
///     has_zeros, zeros   whether there are zero points, like the scales, and these
///     block              features that share a scale
template <class S>
concept scaled_integers = loaded_rows<S> && requires(S const& source) {
    { source.numbers.extent(0) } -> std::same_as<index_t>;
    { source.scales.extent(0) } -> std::same_as<index_t>;
    source.zeros;
    { S::has_zeros } -> std::convertible_to<bool>;
    { source.block } -> std::convertible_to<index_t>;
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
    if constexpr (evenly_spaced<Rows> || loaded_rows<Rows>) return rows.extent(2);
    else return rows.rows_per_run();
}

/// A power of two, up to the bytes of a cache line, that divides the addresses of all rows; 1 where it is not known.
template <class Rows>
index_t row_alignment([[maybe_unused]] Rows const& rows) {
    if constexpr (is_view<Rows>) {
        auto all = reinterpret_cast<std::uintptr_t>(rows.data) | std::uintptr_t{cache_line};
        for (int axis = 0; axis < 3; ++axis)
            if (rows.extent(axis) > 1) all |= static_cast<std::uintptr_t>(rows.stride(axis)) * sizeof(*rows.data);
        return static_cast<index_t>(all & (~all + 1));
    } else if constexpr (requires { rows.row_alignment(); }) {
        return rows.row_alignment();
    } else {
        return 1;
    }
}

}  // namespace fovea::FOVEA_SET
