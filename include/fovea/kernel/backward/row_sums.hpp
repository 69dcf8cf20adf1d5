// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adding to numbers of one query for each row of a table, at the rows that pairs choose: the counterpart of
// `kernel/row_products.hpp`.
#pragma once

#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/row_products.hpp>

#include <tuple>

namespace fovea::FOVEA_SET::kernel {

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
