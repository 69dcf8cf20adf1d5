// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/spec/concepts.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// row_positions: which position a row of a sequence has: its own number, or what a table says, counted from a number,
/// and from one of its element of the batch.
template <class Index = index_t>
struct row_positions {
    index_t first = 0;
    std::optional<view<Index const, 1>> first_of{};  // (batch)
    std::optional<view<Index const, 2>> table{};     // (batch, position), (1, position)

    constexpr index_t operator()(head_place const& at) const {
        index_t row = at.position;
        if (table) row = static_cast<index_t>((*table)(table->extent(0) == 1 ? index_t{0} : at.batch, at.position));
        return wrapped_plus(wrapped_plus(row, first), first_of ? static_cast<index_t>((*first_of)(at.batch)) : 0);
    }

    /// These positions counted from a number, from the elements of a table, or listed in one.
    constexpr row_positions counted_from(index_t n) const { return {n, first_of, table}; }
    template <class I>
    constexpr auto counted_from(view<I, 1> const& t) const {
        auto changed = in<std::remove_const_t<I>>();
        changed.first_of = t;
        return changed;
    }
    template <class I>
    constexpr auto listed_in(view<I, 2> const& t) const {
        auto changed = in<std::remove_const_t<I>>();
        changed.table = t;
        return changed;
    }

    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        if (first_of) visit(*first_of, "the first positions for ");
        if (table) visit(*table, "the positions of ");
    }

    /// Errors: shape_error when a table does not fit rows of (batch, head, position, feature); `word` and `argument`
    /// name what has it.
    FOVEA_INLINE void check(extents_t<4> const& rows, char const* word, char const* argument) const {
        if (first_of && first_of->extent(0) != rows[0])
            raise_error(shape_error(word, " on ", argument, ": ",
                                    detail::there_are(first_of->extent(0), "first position"), " for a batch of ",
                                    rows[0]));
        if (table && (table->extent(1) != rows[2] || (table->extent(0) != 1 && table->extent(0) != rows[0])))
            raise_error(shape_error(word, " on ", argument, ": positions are ", table->extents,
                                    ", (batch, position) is ", extents_t<2>{rows[0], rows[2]}));
    }

private:
    /// These positions with tables of another type, as long as there are none.
    template <class I>
    constexpr row_positions<I> in() const {
        if constexpr (std::is_same_v<I, Index>) return *this;
        else if (!first_of && !table) return {first};
        else raise_error(shape_error("two tables of positions have elements of different types"));
    }
};

}  // namespace fovea::FOVEA_SET
