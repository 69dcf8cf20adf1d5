// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads of tables at the indices of a batch of pairs: one number, consecutive elements, or one element per lane; random
// numbers of pairs.
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/expr/scalar.hpp>
#include <fovea/kernel/wide_pack.hpp>
#include <fovea/simd/simd.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Integers per lane that are as wide as those of threefry and can be combined bit by bit.
template <class T, class Arch>
concept counts_in_lanes = sizeof(integer_like<T>) == 4 && requires(typename registers<T, Arch>::integers a) {
    { (a ^ a) | (a & a) } -> std::convertible_to<typename registers<T, Arch>::integers>;
};

/// The operand of Threefry, two integers in each lane: a counter, or a key in the cipher's sense.
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

/// Elements per lane in the kind their type calls for: reals, integers (of 64 bits where `Exact`), or a mask.
template <class T, class Arch, class Element, bool Exact, class Pick>
FOVEA_INLINE auto collect(Pick pick) {
    using integer = integer_like<T>;
    constexpr auto count = static_cast<std::size_t>(pack<T, Arch>::lanes);
    if constexpr (fovea::detail::is_real_number<Element>) {
        alignas(64) std::array<T, count> lane;
        for (std::size_t i = 0; i < count; ++i) lane[i] = static_cast<T>(pick(i));
        return pack<T, Arch>::load(lane.data());
    } else if constexpr (Exact && !fovea::detail::is_truth<Element>) {
        wide_pack<T, Arch> integers;
        for (std::size_t i = 0; i < count; ++i) integers.lane[i] = static_cast<index_t>(pick(i));
        return integers;
    } else {
        alignas(64) std::array<integer, count> lane;
        for (std::size_t i = 0; i < count; ++i) lane[i] = static_cast<integer>(pick(i));
        auto const integers = index_pack<T, Arch>::load(lane.data());
        if constexpr (fovea::detail::is_truth<Element>) return !(integers == index_pack<T, Arch>(0));
        else return integers;
    }
}

template <class I>
FOVEA_INLINE index_t lane_index(I const& index, std::size_t lane) {
    if constexpr (std::integral<I>) return static_cast<index_t>(index);
    else return static_cast<index_t>(index[lane]);
}

/// Integers per lane as an array; a number stays a number.
template <class I>
FOVEA_INLINE auto as_array(I const& index) {
    if constexpr (std::integral<I>) return static_cast<index_t>(index);
    else return to_integers(index).array();
}

/// Consecutive elements can be read at once: the index counts up by one from lane to lane, or down.
template <class I>
inline constexpr bool counts_up = false;
template <class T, class Arch>
inline constexpr bool counts_up<positions<T, Arch, 1>> = true;
template <class I>
inline constexpr bool counts_down = false;
template <class T, class Arch>
inline constexpr bool counts_down<positions<T, Arch, -1>> = true;

/// A table is read along the keys: its last index counts up from lane to lane, the others are numbers; or against them.
template <class... Index>
inline constexpr bool only_one_varies = ((std::integral<Index> ? 0 : 1) + ... + 0) == 1;
template <class... Index>
inline constexpr bool along_keys =
    only_one_varies<Index...> && counts_up<std::tuple_element_t<sizeof...(Index) - 1, std::tuple<Index...>>>;
template <class... Index>
inline constexpr bool against_keys =
    only_one_varies<Index...> && counts_down<std::tuple_element_t<sizeof...(Index) - 1, std::tuple<Index...>>>;

/// Positions that lie inside of their bounds; any other index as it is.
template <class I>
FOVEA_INLINE auto inside_of_bounds(I const& index) {
    if constexpr (is_clamped_positions<I>) return index.unclamped;
    else return index;
}
/// The bound that positions lie beyond; any other index as it is.
template <class I>
FOVEA_INLINE auto beyond_bound(I const& index) {
    if constexpr (is_clamped_positions<I>) return index.least;
    else return index;
}
/// A table is read at numbers, and along one axis at positions held between two numbers.
template <class... Index>
inline constexpr bool only_clamped_varies = only_one_varies<Index...> && (is_clamped_positions<Index> || ...);
template <class First, class... Others>
FOVEA_INLINE auto const& clamped_among(First const& first, Others const&... others) {
    if constexpr (is_clamped_positions<First>) return first;
    else return clamped_among(others...);
}

/// The part of an element's offset that indices which are numbers add; inside the table, whatever they are.
template <class Element, int Rank, class... Index>
FOVEA_INLINE index_t offset_of_numbers(view<Element const, Rank> const& table, Index const&... index) {
    index_t offset = 0;
    int axis = 0;
    auto const add = [&](auto const& at) FOVEA_LAMBDA {
        if constexpr (std::integral<std::remove_cvref_t<decltype(at)>>)
            offset += clamped_index(static_cast<index_t>(at), table.extent(axis)) * table.stride(axis);
        ++axis;
    };
    (add(index), ...);
    return offset;
}
/// The position of the first lane in the last axis.
template <class... Index>
FOVEA_INLINE index_t first_along_keys(Index const&... index) {
    return std::get<sizeof...(Index) - 1>(std::tie(index...)).first;
}

/// Indices that 32 bits hold in each lane.
template <class T, class... Index>
inline constexpr bool has_short_indices = sizeof(T) == 4
                                       && ((std::integral<Index> || is_index_pack<Index> || is_clamped_positions<Index>
                                            || counts_up<Index> || counts_down<Index>)
                                           && ...);
/// Whether 32 bits hold the distance of any two elements along the axes whose indices differ from lane to lane.
template <class Element, int Rank, class... Index>
FOVEA_INLINE bool has_short_offsets(view<Element const, Rank> const& table, Index const&...) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max();
    index_t reach = 0;
    bool fits = true;
    int axis = 0;
    auto const add = [&]<class I>(std::type_identity<I>) FOVEA_LAMBDA {
        index_t const last = table.extent(axis) - 1, stride = table.stride(axis);
        if constexpr (!std::integral<I>) {
            fits = fits && last <= most && 0 <= stride && stride <= most;
            reach += fits ? last * stride : 0;
        }
        ++axis;
    };
    (add(std::type_identity<Index>()), ...);
    return fits && reach <= most;
}
/// The part that indices in lanes add to it, in each lane; inside the table, whatever they are.
template <class T, class Arch, class Element, int Rank, class... Index>
FOVEA_INLINE index_pack<T, Arch> offsets_in_lanes(view<Element const, Rank> const& table, Index const&... index) {
    using integers = index_pack<T, Arch>;
    integers offsets(0);
    int axis = 0;
    auto const add = [&](auto const& at) FOVEA_LAMBDA {
        if constexpr (!std::integral<std::remove_cvref_t<decltype(at)>>)
            offsets = offsets
                    + max(min(integers(to_integers(at)), integers(table.extent(axis) - 1)), integers(0))
                          * integers(table.stride(axis));
        ++axis;
    };
    (add(index), ...);
    return offsets;
}

/// table(indices...) where at least one index differs from lane to lane, or the number where none does. `Exact`: its
/// integers keep their 64 bits.
template <class T, class Arch, bool Exact = false, class Element, int Rank, class... Index>
    requires(sizeof...(Index) == Rank)
FOVEA_INLINE auto look_up(view<Element const, Rank> const& table, Index const&... index) {
    if constexpr ((std::integral<Index> && ...)) {
        auto const element = table.data[clamped_offset(table, index...)];
        return arithmetic_in<T>::constant(element);
    } else {
        auto const one_by_one = [&]() FOVEA_LAMBDA {
            if constexpr (has_short_indices<T, Index...>)
                if (has_short_offsets(table, index...)) [[likely]] {
                    auto const from = table.data + offset_of_numbers(table, index...);
                    auto const offsets = offsets_in_lanes<T, Arch>(table, index...).array();
                    return collect<T, Arch, Element, Exact>([&](std::size_t lane) { return from[offsets[lane]]; });
                }
            auto const arrays = std::make_tuple(as_array(index)...);
            return collect<T, Arch, Element, Exact>([&](std::size_t lane) {
                return std::apply(
                    [&](auto const&... at) { return table.data[clamped_offset(table, lane_index(at, lane)...)]; },
                    arrays);
            });
        };
        if constexpr (only_clamped_varies<Index...>) {
            if (clamped_among(index...).is_inside()) return look_up<T, Arch, Exact>(table, inside_of_bounds(index)...);
            if (clamped_among(index...).is_number()) {
                auto const element = table.data[clamped_offset(table, beyond_bound(index)...)];
                return collect<T, Arch, Element, Exact>([element](std::size_t) FOVEA_LAMBDA { return element; });
            }
            return one_by_one();
        } else if constexpr (along_keys<Index...> || against_keys<Index...>) {
            constexpr bool forwards = along_keys<Index...>;
            constexpr bool conditions = fovea::detail::is_truth<Element>,
                           integers = !fovea::detail::is_real_number<Element> && !conditions;
            constexpr index_t lanes = pack<T, Arch>::lanes;
            auto const row = table.data + offset_of_numbers(table, index...);
            index_t const first = first_along_keys(index...) - (forwards ? 0 : lanes - 1),
                          left = table.extent(Rank - 1) - first;
            if (!(first >= 0 && left >= (forwards && !integers ? 1 : lanes) && table.stride(Rank - 1) == 1))
                [[unlikely]]
                return one_by_one();
            if constexpr (conditions) {
                auto const mask = load_mask<T, Arch>(row + first, left);
                if constexpr (forwards) return mask;
                else
                    return pack<T, Arch>(T{0})
                         < lanes_of<T, Arch>::reversed(select(mask, pack<T, Arch>(T{1}), pack<T, Arch>(T{0})));
            } else if constexpr (integers) {
                return collect<T, Arch, Element, Exact>([&](std::size_t lane) FOVEA_LAMBDA {
                    auto const i = static_cast<index_t>(lane);
                    return row[first + (forwards ? i : lanes - 1 - i)];
                });
            } else {
                if constexpr (forwards) return load_as<T, Arch>(row + first, left);
                else return lanes_of<T, Arch>::reversed(load_as<T, Arch>(row + first, lanes));
            }
        } else {
            return one_by_one();
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
