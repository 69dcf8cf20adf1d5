// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions of one bit each, eight in a byte: what stands for the element and the pointer of a view of them.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fovea {

/// bit: the element of a view of bits, view<bit const, Rank>, whose elements are read as bool. No object has this type.
struct bit;

/// bit_pointer: the place of a bit; bits are counted from the least of each byte on, as offsets and strides do.
class bit_pointer {
public:
    bit_pointer() = default;
    FOVEA_TAGGED constexpr bit_pointer(unsigned char const* bytes) : byte_(bytes) {}

    FOVEA_TAGGED constexpr bit_pointer operator+(index_t bits) const {
        bit_pointer sum(byte_ + ((shift_ + bits) >> 3));
        sum.shift_ = (shift_ + bits) & 7;
        return sum;
    }
    FOVEA_TAGGED constexpr bool operator*() const { return (*byte_ >> shift_ & 1) != 0; }
    FOVEA_TAGGED constexpr bool operator[](index_t bits) const { return *(*this + bits); }
    FOVEA_TAGGED constexpr bool operator==(bit_pointer const&) const = default;

    /// The byte that it lies in, and its number there.
    FOVEA_TAGGED constexpr unsigned char const* byte() const { return byte_; }
    FOVEA_TAGGED constexpr index_t number() const { return shift_; }

    /// The next n bits, at most 32, the next one least; no byte is read that has none of them.
    FOVEA_TAGGED constexpr std::uint32_t first(index_t n) const {
        std::uint64_t bytes = 0;
        for (index_t i = 0; 8 * i < shift_ + n; ++i) bytes |= std::uint64_t{byte_[i]} << (8 * i);
        return static_cast<std::uint32_t>(bytes >> shift_ & ((std::uint64_t{1} << n) - 1));
    }
    /// As many as a vector has lanes: 8 or 16, or fewer.
    template <index_t N>
    FOVEA_TAGGED constexpr std::uint32_t first() const {
        constexpr index_t whole = N / 8 + (N < 8);
        std::uint32_t bytes = std::uint32_t{byte_[(shift_ + N - 1) / 8]} << (8 * whole);
        for (index_t i = 0; i < whole; ++i) bytes |= std::uint32_t{byte_[i]} << (8 * i);
        return bytes >> shift_ & ((std::uint32_t{1} << N) - 1);
    }

private:
    unsigned char const* byte_ = nullptr;
    index_t shift_ = 0;
};

}  // namespace fovea

namespace fovea::FOVEA_SET::detail {

/// How the elements of a view are reached, and what they are read as.
template <class T>
struct element_access {
    using pointer = T*;
    using reference = T&;
    using value = std::remove_const_t<T>;
};
template <>
struct element_access<bit const> {
    using pointer = bit_pointer;
    using reference = bool;
    using value = bool;
};

/// The type of an element as a value: bool for a bit.
template <class T>
using value_of_element = typename element_access<T const>::value;

/// The element of a view of bits, or the pointer to it.
template <class T>
inline constexpr bool is_bit = std::is_same_v<std::remove_cv_t<T>, bit> || std::is_same_v<T, bit_pointer>;
/// Elements that are conditions, not numbers.
template <class T>
inline constexpr bool is_truth = std::is_same_v<value_of_element<T>, bool>;
/// Elements that are real numbers, neither integers nor conditions.
template <class T>
inline constexpr bool is_real_number = !std::is_integral_v<value_of_element<T>>;
/// The bits in memory that an element takes.
template <class T>
inline constexpr index_t bits_of_element = index_t{8 * sizeof(T)};
template <>
inline constexpr index_t bits_of_element<bit> = 1;

/// The first byte of an element, and the number of its first bit there.
FOVEA_INLINE unsigned char const* byte_of(bit_pointer const& place) { return place.byte(); }
FOVEA_INLINE index_t first_bit_of(bit_pointer const& place) { return place.number(); }
template <class T>
FOVEA_INLINE unsigned char const* byte_of(T const* place) {
    return reinterpret_cast<unsigned char const*>(place);
}
template <class T>
FOVEA_INLINE index_t first_bit_of(T const*) {
    return 0;
}

}  // namespace fovea::FOVEA_SET::detail
