// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The random numbers of pairs, a vector of them at a time.
#pragma once

#include <fovea/core/counter_random.hpp>
#include <fovea/kernel/exact_pack.hpp>

#include <array>
#include <concepts>
#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Integers per lane that are as wide as those of threefry and can be combined bit by bit.
template <class T, class Arch>
concept counts_in_lanes = sizeof(integer_like<T>) == 4 && requires(typename registers<T, Arch>::integers a) {
    { (a ^ a) | (a & a) } -> std::convertible_to<typename registers<T, Arch>::integers>;
};

/// What Threefry works on, two integers in each lane: a counter, or a key in the cipher's sense.
template <class T, class Arch>
using threefry_block = std::array<typename registers<T, Arch>::integers, 2>;

/// Threefry-2x32-20 (Salmon et al. 2011, Random123): the first of the two outputs in each lane.
template <class T, class Arch>
    requires counts_in_lanes<T, Arch>
FOVEA_INLINE auto threefry(threefry_block<T, Arch> const& counter, threefry_block<T, Arch> const& cipher_key) {
    using bits = registers<T, Arch>;
    using integers = typename bits::integers;
    auto const [first, second] = cipher_key;
    integers const keys[] = {first, second, integers(0x1BD11BDA) ^ first ^ second};
    integers x = counter[0] + keys[0], y = counter[1] + keys[1];
    auto const round = [&](auto number) FOVEA_LAMBDA {
        constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
        constexpr int rotation = rotations[number % 8];
        constexpr std::int32_t low = (std::int32_t{1} << rotation) - 1;
        x = x + y;
        y = (bits::template shift_left<rotation>(y) | (bits::template shift_right<32 - rotation>(y) & integers(low)))
          ^ x;
        if constexpr (constexpr int block = number / 4 + 1; number % 4 == 3) {
            x = x + keys[block % 3];
            y = y + (keys[(block + 1) % 3] + integers(block));
        }
    };
    [&]<int... Round>(std::integer_sequence<int, Round...>)
        FOVEA_LAMBDA { (round(std::integral_constant<int, Round>{}), ...); }(std::make_integer_sequence<int, 20>{});
    return x;
}

/// An index with the bits that a lane holds; random numbers count with the low 32 of them.
template <class I>
FOVEA_INLINE auto narrowed(I const& index) {
    if constexpr (is_exact_pack<I> || is_either_integer<I>) return low_halves(index);
    else return index;
}

/// One random number per lane, whichever of the indices differ from lane to lane.
template <class... Index>
    requires((sizeof...(Index) == 5) && ((is_exact_pack<Index> || is_either_integer<Index>) || ...))
auto uniform_of_pair(Index const&... at) {
    return uniform_of_pair(narrowed(at)...);
}
template <class... Index>
    requires((sizeof...(Index) == 5) && (lane_indices<Index> || ...)
             && !((is_exact_pack<Index> || is_either_integer<Index>) || ...))
auto uniform_of_pair(Index const&... at) {
    using any = decltype((to_integers(at) + ...));  // integers per lane
    using real = typename any::real;
    using T = typename real::value_type;
    using bits = typename real::operations;
    if constexpr (counts_in_lanes<T, typename real::architecture>) {
        auto const lanes = [](auto const& index) {
            if constexpr (lane_indices<std::remove_cvref_t<decltype(index)>>) return to_integers(index).value;
            else return any(static_cast<std::int32_t>(static_cast<std::uint32_t>(index))).value;
        };
        auto const [seed, batch, head, query, key] = std::tuple(lanes(at)...);
        auto const x =
            threefry<T, typename real::architecture>({query, key}, {seed, bits::template shift_left<16>(batch) + head});
        auto const upper = bits::template shift_right<9>(x) & typename bits::integers(0x7fffff);
        return (any(upper).to_real() + real(T(0.5))) * real(T(0x1p-23));
    } else {
        alignas(64) auto lane = lanes_of<T, typename real::architecture>::to_array(any(0).to_real());
        auto const element = [](auto const& index, std::size_t i) {
            if constexpr (lane_indices<std::remove_cvref_t<decltype(index)>>)
                return static_cast<index_t>(to_integers(index).array()[i]);
            else return static_cast<index_t>(index);
        };
        for (std::size_t i = 0; i < lane.size(); ++i)
            lane[i] = static_cast<T>(fovea::uniform_of_pair(element(at, i)...));
        return real::load(lane.data());
    }
}

}  // namespace fovea::FOVEA_SET::kernel
