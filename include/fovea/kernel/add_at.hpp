// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adding to the elements of a table, or of numbers that stand for its rows, that the pairs in lanes choose.
#pragma once

#include <fovea/kernel/lookup.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Adds the first `count` lanes to as many numbers.
template <class T, class Arch>
FOVEA_INLINE void add_to(T* to, pack<T, Arch> const& amount, index_t count) {
    using vector = pack<T, Arch>;
    if (count >= vector::lanes) (vector::load(to) + amount).store(to);
    else store_as<T, Arch>(load_as<T, Arch>(to, count) + amount, to, count);
}

/// to(indices...) += amount in each lane, for integers or one per lane. `to` is dense, but for axes that repeat. Where
/// an amount is 0 nothing is written outside of the vector that it stands in, whatever its indices are.
template <class T, class Arch, int Rank, class... Index>
    requires(sizeof...(Index) == Rank)
FOVEA_INLINE void add_at(view<T, Rank> const& to, pack<T, Arch> const& amount, Index const&... index) {
    using vector = pack<T, Arch>;
    if constexpr ((std::integral<Index> && ...)) {
        if (!(!(amount == vector(T{0}))).any()) return;
        to.data[clamped_offset(to, index...)] += lanes_of<T, Arch>::sum(amount);
    } else {
        if constexpr (only_clamped_varies<Index...>) {
            auto const& lanes = clamped_among(index...);
            if (lanes.is_inside()) return add_at<T, Arch>(to, amount, inside_of_bounds(index)...);
            if (lanes.is_number()) return add_at<T, Arch>(to, amount, beyond_bound(index)...);
        } else if constexpr (along_keys<Index...> || against_keys<Index...>) {
            constexpr bool forwards = along_keys<Index...>;
            index_t const first = first_along_keys(index...) - (forwards ? 0 : vector::lanes - 1);
            if (first >= 0 && first + vector::lanes <= to.extent(Rank - 1) && to.stride(Rank - 1) == 1) [[likely]] {
                T* const row = to.data + offset_of_numbers(view<T const, Rank>(to), index...) + first;
                auto const in_order = [&]() FOVEA_LAMBDA {
                    if constexpr (forwards) return amount;
                    else return lanes_of<T, Arch>::reversed(amount);
                }();
                (vector::load(row) + in_order).store(row);
                return;
            }
        }
        auto const lane = lanes_of<T, Arch>::to_array(amount);
        auto const arrays = std::make_tuple(as_array(index)...);
        for (std::size_t i = 0; i < lane.size(); ++i)
            if (lane[i] != T{0})
                std::apply([&](auto const&... at) { to.data[clamped_offset(to, lane_index(at, i)...)] += lane[i]; },
                           arrays);
    }
}

}  // namespace fovea::FOVEA_SET::kernel
