// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New rows that are rounded into a cache: whether they fit it, where each of them goes, and how it is rounded.
#pragma once

#include <fovea/core/blocks.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/memory.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/core/view.hpp>
#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace fovea::FOVEA_SET::detail {

/// A row of numbers rounded to elements, or to blocks, which are whole.
template <class Number, class Element>
void round_row(Number const* row, index_t features, Element* to) {
    if constexpr (!block_format<Element>) {
        std::transform(row, row + features, to, [](Number x) { return rounded_to<Element>(x); });
    } else {
        for (index_t c = 0; c < features; c += Element::size) {
            if constexpr (std::is_same_v<Number, float>) {
                *to++ = Element::rounded(row + c);
            } else {
                std::array<float, static_cast<std::size_t>(Element::size)> numbers;
                std::transform(row + c, row + c + Element::size, numbers.begin(),
                               [](Number x) { return static_cast<float>(x); });
                *to++ = Element::rounded(numbers.data());
            }
        }
    }
}

/// Errors: shape_error where an array that `store` writes, which is sound, has an element twice or shares memory with
/// one that it reads.
template <class Stored, class... Read>
void check_written(view<Stored, 4> const& stored, Read const&... read) {
    auto const to = region_of(stored, "store: the cache");
    require_distinct_elements(to);
    (require_apart(to, read), ...);
}

/// Errors: shape_error where rows from a position on cannot be read or do not fit a cache of these extents, (batch,
/// head, position, feature), and where `stored` cannot be written or has some of them.
template <class Stored, class Element>
void check_stored(extents_t<4> const& cache, view<Stored, 4> const& stored, view<Element, 4> const& source,
                  index_t first) {
    auto const from = region_of(source, "source");
    require_sound(from);
    require_sound(region_of(stored, "store: the cache"));
    if (source.extent(0) != cache[0] || source.extent(1) != cache[1] || source.extent(3) != cache[3])
        raise_error(shape_error("store: source is ", source.extents, " and the cache holds ", cache[0], " x ", cache[1],
                                " heads of ", counted(cache[3], "feature")));
    index_t const count = source.extent(2);
    if (first < 0 || first > cache[2] || count > cache[2] - first)
        raise_error(shape_error("store: source has ", counted(count, "position"), " from ", first,
                                " on, and the cache has ", cache[2]));
    check_written(stored, from);
}

/// The same for a cache in pages, (page, head, slot, feature), and where a position has no page.
template <class Stored, class Element>
void check_stored(extents_t<4> const& pages, view<Stored, 4> const& stored, view<std::int32_t const, 2> const& table,
                  view<Element, 4> const& source, index_t first) {
    require_sound(region_of(table, "the table"));
    paged_rows<Stored> const rows(stored, table);
    check_stored({table.extent(0), pages[1], rows.extent(2), pages[3]}, stored, source, first);
    for (index_t b = 0; b < source.extent(0); ++b)
        for (index_t n = first; n < first + source.extent(2); ++n)
            if (index_t const page = table(b, n / pages[2]); page < 0 || page >= pages[0])
                raise_error(shape_error("store: position ", n, " of batch ", b, " has page ", page,
                                        " in the table, of ", counted(pages[0], "page")));
}

/// The place of a row: in one array, (batch, head, position), or in pages, (page, head, slot).
struct place_of_row {
    index_t outer, head, row;
};

/// Calls f(row, place) for each row of the source, stored from a position on.
template <class Element, class F>
void for_each_stored(view<Element, 4> const& source, index_t first, F const& f) {
    for (index_t b = 0; b < source.extent(0); ++b)
        for (index_t h = 0; h < source.extent(1); ++h)
            for (index_t n = 0; n < source.extent(2); ++n)
                f(source.place(b, h, n, index_t{0}), place_of_row{b, h, first + n});
}
template <class Element, class F>
void for_each_stored(view<Element, 4> const& source, view<std::int32_t const, 2> const& table, index_t page_size,
                     index_t first, F const& f) {
    for_each_stored(source, first, [&](Element const* row, place_of_row const& at) {
        f(row, place_of_row{table(at.outer, at.row / page_size), at.head, at.row % page_size});
    });
}

}  // namespace fovea::FOVEA_SET::detail
