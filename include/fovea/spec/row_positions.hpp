// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/spec/feature_row.hpp>

#include <string>
#include <type_traits>

namespace fovea {

/// row_positions: which position a row of a sequence has: its own number, or what a table says, counted from a number,
/// and from one of its element of the batch.
template <class Index = index_t>
struct row_positions {
    index_t first = 0;
    view<Index const, 1> first_of{};  // (batch)
    view<Index const, 2> table{};     // (batch, position), (1, position)

    constexpr index_t operator()(head_place const& at) const {
        auto const batch = table.extent(0) == 1 ? index_t{0} : at.batch;
        index_t const row = table.data ? static_cast<index_t>(table(batch, at.position)) : at.position;
        return row + first + (first_of.data ? static_cast<index_t>(first_of(at.batch)) : 0);
    }

    /// The same with tables of another type, as long as there are none.
    template <class I>
    constexpr row_positions<I> in() const {
        if constexpr (std::is_same_v<I, Index>) return *this;
        else if (!first_of.data && !table.data) return {first, {}, {}};
        else throw shape_error("two tables of positions have elements of different types");
    }

    /// Errors: shape_error when a table does not fit rows of (batch, head, position, feature); `word` and `argument`
    /// name what has it.
    [[gnu::always_inline]] void check(extents_t<4> const& rows, char const* word, char const* argument) const {
        auto const subject = [&] { return std::string(word) + " on " + argument + ": "; };
        if (first_of.data && first_of.extent(0) != rows[0])
            throw shape_error(subject() + "there are " + std::to_string(first_of.extent(0))
                              + " first positions for a batch of " + std::to_string(rows[0]));
        bool const fits = table.extent(1) == rows[2] && (table.extent(0) == 1 || table.extent(0) == rows[0]);
        if (table.data && !fits)
            throw shape_error(subject() + "positions are " + to_text(table.extents) + ", (batch, position) is "
                              + to_text(extents_t<2>{rows[0], rows[2]}));
    }
};

}  // namespace fovea
