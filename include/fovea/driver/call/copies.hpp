// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands copied into scratch memory: rows from any source, rows of features, and zeros in place of tables without
// elements.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/core/row_run.hpp>
#include <fovea/core/view.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/expr/analyze.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Copies rows of features, each number rounded to the other type, in tasks of a few hundred positions of a head.
template <class T, class From, class Executor>
void copy_rows(Executor const& executor, view<From, 4> const& from, view<T, 4> const& to) {
    constexpr index_t rows = 256;
    index_t const heads = from.extent(1), positions = from.extent(2), parts = ceil_div(positions, rows);
    executor.run(from.extent(0) * heads * parts, [&](index_t task, index_t) {
        index_t const first = task % parts * rows, head = task / parts % heads, batch = task / parts / heads;
        for (index_t n = first; n < std::min(first + rows, positions); ++n) {
            auto const* const row = from.place(batch, head, n, index_t{0});
            std::transform(row, row + from.extent(3), to.place(batch, head, n, index_t{0}),
                           [](auto x) { return static_cast<T>(x); });
        }
    });
}

/// Zeros for tables without elements. A pair that takes part reads none of these, which is checked before; rows that
/// see no key are read beforehand all the same, and so are lanes for which a select() takes its other side.
struct zeros_for_tables {
    arena& memory;
    index_t features;

    /// A table with one row, whatever its indices are: of all features, where it has an axis for them.
    template <class T, int Rank>
    [[gnu::cold]] view<T const, Rank> table() const {
        index_t const count = std::max<index_t>(features, 1);
        using stored = std::conditional_t<std::is_same_v<T, bit>, unsigned char, T>;
        auto* const zeros = memory.take<stored>(count);
        std::fill_n(zeros, count, stored{});
        view<T const, Rank> row;
        row.data = zeros;
        row.extents.fill(1);
        row.extents.back() = count;
        row.strides.back() = 1;
        return row;
    }
};

/// An expression whose tables all have elements.
template <class E>
auto with_elements(E const& e, zeros_for_tables const& zeros) {
    if constexpr (is_parameter<E>) {
        auto same = e;
        if (e.table.empty()) same.table = zeros.table<typename decltype(e.table)::value_type, E::rank>();
        return same;
    } else if constexpr (is_node<E> && reads_a_table<E>) {
        return with_children(e, [&](auto const&... children) {
            return make_node<typename E::operation>(with_elements(children, zeros)...);
        });
    } else {
        return e;
    }
}

/// Rows in memory: what is loaded is loaded at once.
template <class T, class Rows>
auto in_memory(Rows const& rows, workspace& scratch) {
    if constexpr (loaded_rows<Rows>) {
        extents_t<4> const& n = rows.extents;
        auto const all = fresh_rows<T>(scratch, n);
        for (index_t b = 0; b < n[0] && !scratch.measures(); ++b)
            for (index_t h = 0; h < n[1]; ++h) rows.load(row_range{b, h, 0, n[2]}, all.place(b, h, 0, 0), n[3]);
        return view<T const, 4>(all);
    } else {
        return rows;
    }
}

}  // namespace fovea::FOVEA_SET::driver
