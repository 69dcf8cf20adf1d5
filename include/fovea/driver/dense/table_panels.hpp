// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory for products of queries with the rows of tables: some panels of rows, packed, and the products of a tile.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>

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

}  // namespace fovea::FOVEA_SET::driver
