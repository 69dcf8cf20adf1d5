// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers for each row of a table, of one query or of some keys, read and added to at the rows that pairs choose.
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/kernel/add_at.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/lookup.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
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

    /// Those of the keys from the nth on: the same.
    numbers_of_rows from_key(index_t) const { return *this; }
    template <class Number, class Arch, class Index>
    FOVEA_INLINE auto look_up(Index const& index) const {
        return kernel::look_up<Number, Arch>(view<Number const, 1>(first, {size()}), place(index));
    }
    template <class Number, class Arch, class Index>
    FOVEA_INLINE void add(pack<Number, Arch> const& amount, Index const& index) const {
        add_at<Number, Arch>(view<Number, 1>(first, {size()}), amount, place(index));
    }
};

/// Some numbers of each key of a panel: (rows.lo ... rows.hi, width), a key in each lane. Rows that go with the keys,
/// or against them, are read along a diagonal.
template <class T>
struct numbers_of_keys : numbers_of_rows<T> {
    index_t width;
    index_t key = 0;  // of the first lane

    numbers_of_keys from_key(index_t n) const { return {{this->first, this->rows}, width, n}; }

    template <class Number, class Arch, class Index>
    FOVEA_INLINE auto look_up(Index const& index) const {
        using vector = pack<Number, Arch>;
        return visit<vector::lanes>(
            this->place(index), [](T const* row) FOVEA_LAMBDA { return vector::load(row); },
            [](T const* from, index_t step) FOVEA_LAMBDA {
                auto numbers = vector::load(from);
                unrolled<vector::lanes - 1>([&](auto i) FOVEA_LAMBDA {
                    from += step;
                    numbers = select(vector::iota() == vector(Number(i + 1)), vector::load(from), numbers);
                });
                return numbers;
            },
            [&](auto const& at) FOVEA_LAMBDA {
                return as_pack<Number, Arch>(kernel::look_up<Number, Arch>(
                    view<Number const, 2>(this->first, {this->size(), width}), at, positions<Number, Arch>{key}));
            });
    }
    template <class Number, class Arch, class Index>
    FOVEA_INLINE void add(pack<Number, Arch> const& amount, Index const& index) const {
        using vector = pack<Number, Arch>;
        visit<vector::lanes>(
            this->place(index), [&](T* row) FOVEA_LAMBDA { (vector::load(row) + amount).store(row); },
            [&](T* to, index_t step) FOVEA_LAMBDA {
                unrolled<vector::lanes>([&](auto i) FOVEA_LAMBDA {
                    (vector::load(to) + select(vector::iota() == vector(Number(i)), amount, vector(Number{0})))
                        .store(to);
                    to += step;
                });
            },
            [&](auto const& at) FOVEA_LAMBDA {
                add_at<Number, Arch>(view<Number, 2>(this->first, {this->size(), width}), amount, at,
                                     positions<Number, Arch>{key});
            });
    }

private:
    /// Calls of_row(address) where all lanes have one row, diagonal(address, step to the next lane's row), or any(at).
    template <index_t Lanes, class At, class OfRow, class Diagonal, class Any>
    FOVEA_INLINE auto visit(At const& at, OfRow const& of_row, Diagonal const& diagonal, Any const& any) const {
        if constexpr (std::integral<At>) {
            return of_row(this->first + std::clamp<index_t>(at, 0, this->size() - 1) * width + key);
        } else if constexpr (is_positions<At>) {
            index_t const last = at.first + At::step * (Lanes - 1);
            if (std::min(at.first, last) < 0 || std::max(at.first, last) >= this->size()) [[unlikely]]
                return any(at);
            return diagonal(this->first + at.first * width + key, At::step * width);
        } else if constexpr (is_clamped_positions<At>) {
            if (at.is_inside()) return visit<Lanes>(at.unclamped, of_row, diagonal, any);
            if (at.is_number()) return visit<Lanes>(static_cast<index_t>(at.least), of_row, diagonal, any);
            return any(at);
        } else {
            return any(at);
        }
    }
};

/// The environment of a row of a table that pairs choose along `Axis`, with keys in lanes: the row is the number that
/// stands for it.
template <class T, class Arch, int Axis, class Numbers>
struct row_number_environment : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    Numbers numbers;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return base::lookup(table, at...);
        else return as_pack<T, Arch>(numbers.template look_up<T, Arch>(std::get<std::size_t{Axis}>(std::tie(at...))));
    }
};

/// row_numbers: the numbers that pairs of a row with keys from `first` on choose, in whole vectors.
template <int Axis, class T, class Arch, class Row, class Numbers>
FOVEA_INLINE void row_numbers(Row const& row, row_coordinates const& coordinates, index_t first, index_t packs,
                              Numbers const& from, T* to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    for (index_t n = 0; n < packs; ++n) {
        row_number_environment<T, Arch, Axis, Numbers> const here{{coordinates, {first + n * lanes}},
                                                                  from.from_key(n * lanes)};
        value_in_lanes<T, Arch>(row, here).store(to + n * lanes);
    }
}

/// As row_number_environment, where an amount of each pair is added to the number that stands for its row.
template <class T, class Arch, int Axis, class Numbers>
struct row_sum_environment : index_environment<T, Arch, positions<T, Arch>> {
    using base = index_environment<T, Arch, positions<T, Arch>>;
    Numbers sums;
    pack<T, Arch> amount;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) {
            return base::lookup(table, at...);
        } else {
            sums.template add<T, Arch>(amount, std::get<std::size_t{Axis}>(std::tie(at...)));
            return amount;
        }
    }
};

/// add_to_row_numbers: the amounts of pairs with keys from `first` on are added to the numbers that they choose.
template <int Axis, class T, class Arch, class Row, class Numbers>
FOVEA_INLINE void add_to_row_numbers(Row const& row, row_coordinates const& coordinates, index_t first, index_t keys,
                                     T const* amounts, Numbers const& to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    for (index_t k = 0; k < keys; k += lanes) {
        row_sum_environment<T, Arch, Axis, Numbers> const here{
            {coordinates, {first + k}}, to.from_key(k), load_as<T, Arch>(amounts + k, keys - k)};
        static_cast<void>(value_in_lanes<T, Arch>(row, here));
    }
}

}  // namespace fovea::FOVEA_SET::kernel
