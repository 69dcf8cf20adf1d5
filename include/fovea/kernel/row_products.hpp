// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of one query for each row of a table, read and added to at the rows that pairs choose.
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/kernel/add_at.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/lookup.hpp>

#include <tuple>

namespace fovea::FOVEA_SET::kernel {

/// Some numbers of a query: one for each row [rows.lo, rows.hi] of a table along the axis that pairs choose.
template <class T>
struct numbers_of_rows {
    T* first;
    interval<index_t> rows;

    index_t size() const { return rows.hi - rows.lo + 1; }
    /// An index of the table as one of these numbers: rows beyond them are the nearest, as beyond a table.
    template <class Index>
    FOVEA_INLINE auto place(Index const& index) const {
        if constexpr (std::integral<Index> || any_positions<Index>) return index - rows.lo;
        else return max(min(to_integers(index), rows.hi), rows.lo) - rows.lo;
    }
};

/// The environment of a row of a table that pairs choose along `Axis`, with keys in lanes: the row is the number that
/// stands for it.
template <class T, class Arch, int Axis>
struct row_number_environment : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    numbers_of_rows<T const> numbers;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return base::lookup(table, at...);
        else
            return as_pack<T, Arch>(look_up<T, Arch>(view<T const, 1>(numbers.first, {numbers.size()}),
                                                     numbers.place(std::get<std::size_t{Axis}>(std::tie(at...)))));
    }
};

/// row_numbers: the numbers that pairs of a row with keys from `first` on choose, in whole vectors.
template <int Axis, class T, class Arch, class Row>
FOVEA_INLINE void row_numbers(Row const& row, row_coordinates const& coordinates, index_t first, index_t packs,
                              numbers_of_rows<T const> const& from, T* to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    for (index_t n = 0; n < packs; ++n) {
        row_number_environment<T, Arch, Axis> const here{{coordinates, {first + n * lanes}}, from};
        value_in_lanes<T, Arch>(row, here).store(to + n * lanes);
    }
}

/// As row_number_environment, where an amount of each pair is added to the number that stands for its row.
template <class T, class Arch, int Axis>
struct row_sum_environment : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    numbers_of_rows<T> sums;
    pack<T, Arch> amount;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) {
            return base::lookup(table, at...);
        } else {
            add_at<T, Arch>(view<T, 1>(sums.first, {sums.size()}), amount,
                            sums.place(std::get<std::size_t{Axis}>(std::tie(at...))));
            return amount;
        }
    }
};

/// add_to_row_numbers: the amounts of pairs with keys from `first` on are added to the numbers that they choose.
template <int Axis, class T, class Arch, class Row>
FOVEA_INLINE void add_to_row_numbers(Row const& row, row_coordinates const& coordinates, index_t first, index_t keys,
                                     T const* amounts, numbers_of_rows<T> const& to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    for (index_t k = 0; k < keys; k += lanes) {
        row_sum_environment<T, Arch, Axis> const here{
            {coordinates, {first + k}}, to, load_as<T, Arch>(amounts + k, keys - k)};
        static_cast<void>(value_in_lanes<T, Arch>(row, here));
    }
}

}  // namespace fovea::FOVEA_SET::kernel
