// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of a few bits in blocks, each with a scale of its own: byte for byte what caches of inference engines hold.
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace fovea::FOVEA_SET {

/// block_format: numbers that are stored `size` at a time.
///
///     number(i)              the ith of them
///     numbers(to)            all of them
///     finite()               whether all are
///     Block::rounded(from)   the nearest block to `size` floats
template <class Block>
concept block_format = requires(Block const& block, index_t i, float const* from, float* to) {
    { Block::size } -> std::convertible_to<index_t>;
    { block.number(i) } -> std::same_as<float>;
    block.numbers(to);
    { block.finite() } -> std::same_as<bool>;
    { Block::rounded(from) } -> std::same_as<Block>;
};

namespace detail {
/// The features that an element of a cache has: those of a block, or one.
template <class T>
inline constexpr index_t features_of_element = 1;
template <block_format Block>
inline constexpr index_t features_of_element<Block> = Block::size;

/// True where a number of 16 bits is neither infinite nor a NaN.
constexpr bool is_finite(float16 x) { return (x.bits & 0x7c00U) != 0x7c00U; }
/// The factor that counts a number in steps, which may be 0.
inline float per_step(float step) { return step != 0 ? 1 / step : 0; }
/// The integer below a number of steps; of a NaN the least. Written so that compilers do it in vectors, as below.
inline int whole_steps(float steps, float least, float most) {
    return static_cast<int>(std::min(most, std::max(least, steps)));
}
/// The distance from 0, in the order of its bits. A NaN is farther than all.
inline std::int32_t bits_of_distance(float x) { return std::bit_cast<std::int32_t>(x) & 0x7fffffff; }
template <std::int64_t Size>
float greatest_distance(float const* from) {
    std::int32_t most = 0;
    for (std::int64_t i = 0; i < Size; ++i) most = std::max(most, bits_of_distance(from[i]));
    return std::bit_cast<float>(most);
}
/// The least and the greatest of `size` numbers, by their bits.
template <std::int64_t Size>
std::pair<float, float> extremes(float const* from) {
    auto const flipped = [](std::int32_t bits) { return bits ^ (bits >> 31 & 0x7fffffff); };  // in the order of numbers
    std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = std::numeric_limits<std::int32_t>::min();
    for (std::int64_t i = 0; i < Size; ++i) {
        auto const place = flipped(std::bit_cast<std::int32_t>(from[i]));
        low = std::min(low, place);
        high = std::max(high, place);
    }
    return {std::bit_cast<float>(flipped(low)), std::bit_cast<float>(flipped(high))};
}
/// The first of the x that are farthest from 0.
template <std::int64_t Size>
float farthest(float const* from) {
    auto const [low, high] = extremes<Size>(from);
    auto const below = bits_of_distance(low), above = bits_of_distance(high);
    if (below != above) return below > above ? low : high;
    return *std::find_if(from, from + Size, [=](float x) { return bits_of_distance(x) == above; });
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET

namespace fovea {

/// q8_0: 32 numbers of 8 bits with a scale, in 34 bytes.
///
///     x_i = scale * numbers_i,   scale = max |x| / 127, rounded to float16
///
/// Rounding: to nearest, halves away from 0. Source: ggml, block_q8_0.
struct q8_0 {
    static constexpr std::int64_t size = 32;
    float16 scale;
    std::int8_t integers[size];

    FOVEA_TAGGED constexpr float number(std::int64_t i) const {
        return static_cast<float>(scale) * static_cast<float>(integers[i]);
    }
    template <class T>
    FOVEA_TAGGED constexpr void numbers(T* to) const {
        T const step = static_cast<T>(static_cast<float>(scale));
        for (std::int64_t i = 0; i < size; ++i) to[i] = step * static_cast<T>(integers[i]);
    }
    FOVEA_TAGGED constexpr bool finite() const { return detail::is_finite(scale); }
    FOVEA_TAGGED static q8_0 rounded(float const* from) {
        float const step = detail::greatest_distance<size>(from) / 127, factor = detail::per_step(step);
        q8_0 block{};
        block.scale = float16(step);
        for (std::int64_t i = 0; i < size; ++i) {
            float const steps = from[i] * factor, half = std::copysign(0x1.fffffep-2f, steps);  // the float below 1/2
            block.integers[i] = static_cast<std::int8_t>(detail::whole_steps(steps + half, -127, 127));
        }
        return block;
    }
};
static_assert(sizeof(q8_0) == 34);

/// q4_0: 32 numbers of 4 bits with a scale, in 18 bytes: numbers 0 to 15 are the lower halves of the bytes, 16 to 31
/// the upper ones.
///
///     x_i = scale * (quarter_i - 8),   scale = x_m / -8 for the x_m that is farthest from 0, rounded to float16
///
/// Source: ggml, block_q4_0.
struct q4_0 {
    static constexpr std::int64_t size = 32;
    float16 scale;
    std::uint8_t pairs[size / 2];

    FOVEA_TAGGED constexpr float number(std::int64_t i) const {
        int const pair = pairs[i % 16];
        return static_cast<float>(scale) * static_cast<float>((i < 16 ? pair & 15 : pair >> 4) - 8);
    }
    template <class T>
    FOVEA_TAGGED constexpr void numbers(T* to) const {
        T const step = static_cast<T>(static_cast<float>(scale));
        for (std::int64_t i = 0; i < size / 2; ++i) to[i] = step * static_cast<T>((pairs[i] & 15) - 8);
        for (std::int64_t i = 0; i < size / 2; ++i) to[size / 2 + i] = step * static_cast<T>((pairs[i] >> 4) - 8);
    }
    FOVEA_TAGGED constexpr bool finite() const { return detail::is_finite(scale); }
    FOVEA_TAGGED static q4_0 rounded(float const* from) {
        float const step = detail::farthest<size>(from) / -8, factor = detail::per_step(step);
        q4_0 block{};
        block.scale = float16(step);
        auto const quarter = [=](std::int64_t i) { return detail::whole_steps(from[i] * factor + 8.5f, 0, 15); };
        for (std::int64_t i = 0; i < size / 2; ++i)
            block.pairs[i] = static_cast<std::uint8_t>(quarter(i) | quarter(i + size / 2) << 4);
        return block;
    }
};
static_assert(sizeof(q4_0) == 18);

/// q4_1: 32 numbers of 4 bits with a scale and a least number, in 20 bytes; in the order of q4_0.
///
///     x_i = least + scale * quarter_i,   scale = (max x - min x) / 15, both rounded to float16
///
/// Source: ggml, block_q4_1.
struct q4_1 {
    static constexpr std::int64_t size = 32;
    float16 scale, least;
    std::uint8_t pairs[size / 2];

    FOVEA_TAGGED constexpr float number(std::int64_t i) const {
        int const pair = pairs[i % 16];
        return static_cast<float>(scale) * static_cast<float>(i < 16 ? pair & 15 : pair >> 4)
             + static_cast<float>(least);
    }
    template <class T>
    FOVEA_TAGGED constexpr void numbers(T* to) const {
        T const step = static_cast<T>(static_cast<float>(scale)), first = static_cast<T>(static_cast<float>(least));
        for (std::int64_t i = 0; i < size / 2; ++i) to[i] = step * static_cast<T>(pairs[i] & 15) + first;
        for (std::int64_t i = 0; i < size / 2; ++i) to[size / 2 + i] = step * static_cast<T>(pairs[i] >> 4) + first;
    }
    FOVEA_TAGGED constexpr bool finite() const { return detail::is_finite(scale) && detail::is_finite(least); }
    FOVEA_TAGGED static q4_1 rounded(float const* from) {
        auto const [low, high] = detail::extremes<size>(from);
        float const step = (high - low) / 15, factor = detail::per_step(step);
        q4_1 block{};
        block.scale = float16(step);
        block.least = float16(low);
        auto const quarter = [=, origin = low](std::int64_t i) {
            return detail::whole_steps((from[i] - origin) * factor + 0.5f, 0, 15);
        };
        for (std::int64_t i = 0; i < size / 2; ++i)
            block.pairs[i] = static_cast<std::uint8_t>(quarter(i) | quarter(i + size / 2) << 4);
        return block;
    }
};
static_assert(sizeof(q4_1) == 20);

}  // namespace fovea
