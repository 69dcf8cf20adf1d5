// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values in blocks of a few bits: a source of rows that is decoded as it is read, and what writes one.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/blocks.hpp>
#include <fovea/core/row_run.hpp>
#include <fovea/spec/shapes.hpp>
#include <fovea/spec/stored_rows.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// quantized_rows: what quantized returns. `Blocks` is a view or pages of blocks.
template <class Blocks>
struct quantized_rows {
    using block_type = element_of_rows<Blocks>;
    using value_type = float;
    static constexpr index_t size = block_type::size;

    Blocks blocks;
    extents_t<4> extents;  // (batch, head, position, feature)

    constexpr explicit quantized_rows(Blocks const& of)
        : blocks(of), extents{of.extent(0), of.extent(1), of.extent(2), of.extent(3) * size} {}

    constexpr index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    constexpr float operator()(index_t batch, index_t head, index_t position, index_t feature) const {
        return blocks(batch, head, position, feature / size).number(feature % size);
    }

    template <class T>
    void load(row_range const& rows, T* to, index_t stride) const {
        for (index_t n = rows.first; n < rows.last; ++n, to += stride) {
            auto const* const row = blocks.place(rows.batch, rows.head, n, 0);
            for (index_t b = 0; b < blocks.extent(3); ++b) row[b].numbers(to + b * size);
        }
    }
    bool finite(row_range const& rows) const {
        for (index_t n = rows.first; n < rows.last; ++n) {
            auto const* const row = blocks.place(rows.batch, rows.head, n, 0);
            if (!std::all_of(row, row + blocks.extent(3), [](auto const& block) { return block.finite(); }))
                return false;
        }
        return true;
    }

    template <class F>
    constexpr void for_each_source(F const& f) const {
        f(blocks);
    }
    template <class Visit>
    constexpr void for_each_array(Visit const& visit) const {
        if constexpr (is_paged<Blocks>) blocks.for_each_array(visit);
        else visit(blocks, "'s blocks");
    }
    void check(char const* argument) const {
        if constexpr (requires { blocks.check(argument); }) blocks.check(argument);
    }
};

/// quantized: keys or values in blocks of a few bits, read in place.
///
///     attend(spec, query, quantized(keys), quantized(values), result)
///     view<q8_0 const, 4> keys, or paged(pages, table) of blocks: (batch, head, position, feature / 32)
///
/// Formats: q8_0, q4_0, q4_1, and any block_format of one's own; keys and values choose independently.
/// Cost: few queries decode blocks in registers as they read them; many decode a block of rows once.
/// Errors: those of the views and pages. Source: of the formats, ggml.
template <class Rows>
constexpr auto quantized(Rows const& rows) {
    auto const blocks = as_rows(rows);
    constexpr bool of_blocks = block_format<element_of_rows<decltype(blocks)>>;
    static_assert(of_blocks,
                  "fovea: quantized takes rows of blocks, such as q8_0 or q4_0: give it a view or pages of them");
    if constexpr (of_blocks) return quantized_rows<std::remove_const_t<decltype(blocks)>>(blocks);
    else return blocks;
}

namespace detail {
/// The extents of blocks, counted in numbers.
template <class Block>
constexpr extents_t<4> numbers_of(view<Block, 4> const& blocks) {
    return {blocks.extent(0), blocks.extent(1), blocks.extent(2), blocks.extent(3) * Block::size};
}
}  // namespace detail

/// store: rounds new rows to blocks of a cache, from a position on.
///
///     store(blocks, source, first)             blocks: (batch, head, position, feature / 32)
///     store(pages, table, source, first)       pages: (page, head, slot, feature / 32), table: (batch, page)
///
/// source: (batch, head, position, feature), of any real type. Errors: shape_error, before anything is written, for
/// rows that do not fit the cache, or lie in it, features that are no whole blocks, and positions without a page.
template <block_format Block, class Element>
void store(view<Block, 4> const& blocks, view<Element, 4> const& source, index_t first) {
    detail::check_stored(detail::numbers_of(blocks), blocks, source, first);
    detail::for_each_stored(source, first, [&](Element const* row, detail::place_of_row const& at) {
        detail::round_row(row, source.extent(3), blocks.place(at.outer, at.head, at.row, index_t{0}));
    });
}
template <block_format Block, class Element>
void store(view<Block, 4> const& pages, view<std::int32_t const, 2> const& table, view<Element, 4> const& source,
           index_t first) {
    detail::check_stored(detail::numbers_of(pages), pages, table, source, first);
    detail::for_each_stored(
        source, table, pages.extent(2), first, [&](Element const* row, detail::place_of_row const& at) {
            detail::round_row(row, source.extent(3), pages.place(at.outer, at.head, at.row, index_t{0}));
        });
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
