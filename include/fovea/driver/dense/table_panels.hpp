// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for products of queries and keys with the rows of tables: some panels of rows, packed, the products of a tile
// of queries, and those of the keys of a block.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/core/interval.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>
#include <cstring>

namespace fovea::FOVEA_SET::driver {

/// The packed rows of tables, each term of a score having some panels of consecutive rows: as many as the rows of a
/// block of queries meet at a block of keys, where one step of a position is one of the row.
template <class Blocking>
class table_panels {
    using T = typename Blocking::number;
    static constexpr index_t panel = Blocking::panel;

public:
    /// The products of a tile have room for the rows that it meets at a block of keys, in whole panels.
    static constexpr index_t width = round_up(Blocking::block_keys + Blocking::rows, panel) + 2 * panel;
    static constexpr index_t count = 2 * ceil_div(Blocking::block_keys + Blocking::block_rows, panel);

    /// For so many terms, over at most so many features.
    table_panels(arena& memory, index_t terms, index_t features)
        : terms_(terms),
          features_(features),
          products_(memory.template take<T>(terms > 0 ? Blocking::rows * width : 0)),
          packed_(memory.template take<T>(terms * count * panel * features)),
          held_(memory.template take<contents>(terms * count)) {}

    /// Nothing is packed yet.
    void clear() { std::fill_n(held_, terms_ * count, contents{}); }

    /// (rows, width)
    T* products() const { return products_; }

    /// The panel that begins at row n * panel of a table whose first row is at `first`: (features, panel). pack(to)
    /// packs it where that has not been done.
    template <class Pack>
    T const* panel_of(index_t term, void const* first, index_t n, Pack const& pack) const {
        index_t const place = term * count + n % count;
        T* const to = packed_ + place * panel * features_;
        contents const wanted{first, n};
        if (contents& held = held_[place]; held.first != wanted.first || held.n != wanted.n) {
            pack(to);
            held = wanted;
        }
        return to;
    }

private:
    struct contents {
        void const* first = nullptr;
        index_t n = -1;
    };

    index_t terms_, features_;
    T* products_;
    T* packed_;       // (terms, count, features, panel)
    contents* held_;  // (terms, count)
};

/// The products of the keys of each panel of a block with consecutive rows of a table. Those that a tile of queries has
/// met are there for the next one, which by distance meets all but as many as it has queries.
template <class Blocking>
class key_table_panels {
    using T = typename Blocking::number;
    static constexpr index_t panel = Blocking::panel, panels = Blocking::panels;

public:
    /// Rows of a panel: twice as many as a tile meets where one step of a position is one of the row.
    static constexpr index_t capacity = 2 * (Blocking::rows + panel);

    /// For so many terms, over at most so many features.
    key_table_panels(arena& memory, index_t terms, index_t features)
        : terms_(terms),
          products_(memory.template take<T>(terms * panels * capacity * panel)),
          rows_(memory.template take<T>(terms > 0 ? capacity * round_up(features, Blocking::lanes) : 0)),
          held_(memory.template take<contents>(terms * panels)) {}

    void clear() { std::fill_n(held_, terms_ * panels, contents{}); }

    /// Memory for rows that are no numbers of type T: (capacity, features in whole vectors).
    T* rows() const { return rows_; }

    /// The products of the keys from `key` on with the rows `wanted`, at most `capacity`, of a table whose first row is
    /// at `first`: (wanted, panel). multiply(rows, to) makes those that are not there.
    template <class Multiply>
    T const* of(index_t term, void const* first, index_t key, interval<index_t> const& wanted,
                Multiply const& multiply) const {
        index_t const place = term * panels + key / panel % panels;
        T* const memory = products_ + place * capacity * panel;
        auto& held = held_[place];
        auto const at = [&](index_t row) { return memory + (row - held.origin) * panel; };
        if (held.first != first || held.key != key || wanted.lo > held.rows.hi + 1 || wanted.hi < held.rows.lo - 1)
            held = {first, key, {wanted.lo, wanted.lo - 1}, wanted.lo - (capacity - (wanted.hi - wanted.lo + 1)) / 2};
        else if (wanted.lo < held.origin || wanted.hi >= held.origin + capacity) {
            interval<index_t> const kept{std::max(wanted.lo, held.rows.lo), std::min(wanted.hi, held.rows.hi)};
            T const* const from = at(kept.lo);
            bool const falls = wanted.lo < held.rows.lo;  // and goes on to: there is room for the next rows
            held.origin = falls ? wanted.hi + 1 - capacity : wanted.lo;
            std::memmove(at(kept.lo), from, static_cast<std::size_t>((kept.hi - kept.lo + 1) * panel) * sizeof(T));
            held.rows = kept;
        }
        if (wanted.lo < held.rows.lo) multiply(interval<index_t>{wanted.lo, held.rows.lo - 1}, at(wanted.lo));
        if (wanted.hi > held.rows.hi) multiply(interval<index_t>{held.rows.hi + 1, wanted.hi}, at(held.rows.hi + 1));
        held.rows = {std::min(wanted.lo, held.rows.lo), std::max(wanted.hi, held.rows.hi)};
        return at(wanted.lo);
    }

private:
    struct contents {
        void const* first = nullptr;
        index_t key = -1;
        interval<index_t> rows{};
        index_t origin = 0;  // the row that would be the first of the memory
    };

    index_t terms_;
    T* products_;  // (terms, panels, capacity, panel)
    T* rows_;
    contents* held_;  // (terms, panels)
};

}  // namespace fovea::FOVEA_SET::driver
