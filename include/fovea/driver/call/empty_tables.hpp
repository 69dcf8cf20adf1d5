// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Zeros in place of tables without elements.
#pragma once

#include <fovea/driver/run/arena.hpp>
#include <fovea/expr/analyze.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Zeros for tables without elements. A pair that takes part reads none of these, which is checked before; rows that
/// see no key are read beforehand all the same, and so are lanes for which a select() takes its other side.
struct zeros_for_tables {
    arena& memory;
    index_t features;

    /// A table with one row, whatever its indices are: of all features, where it has an axis for them.
    template <class T, int Rank>
    [[gnu::cold]] view<T const, Rank> table() const {
        index_t const count = std::max<index_t>(features, 1);
        T* const zeros = memory.take<T>(count);
        std::fill_n(zeros, count, T{});
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

}  // namespace fovea::FOVEA_SET::driver
