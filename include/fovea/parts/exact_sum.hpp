// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of numbers without rounding, which are the same in whatever order the numbers come.
#pragma once

#include <fovea/core/index.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET {

/// exact_sum: a sum as `words` integers, zeros at first, of which each counts in units 2^32 times those of the one
/// before, from the least number of T on; the last two count infinities of either sign, and a NaN as both.
///
/// Two sums are added integer by integer. Up to 2^30 numbers are added to one.
/// Source: Neal (2015), small superaccumulators.
template <class T>
struct exact_sum {
    using limits = std::numeric_limits<T>;
    static_assert(limits::digits <= 53);
    static constexpr int least = limits::min_exponent - limits::digits;  // the least number is 2^least
    static constexpr index_t numbers = (limits::max_exponent - limits::digits - least) / 32 + 3, words = numbers + 2;

    static void add(std::int64_t* sum, T x) {
        if (x == T{0}) return;
        if (!(std::abs(x) <= limits::max())) {
            sum[numbers] += x < T{0} ? 0 : 1;
            sum[numbers + 1] += x > T{0} ? 0 : 1;
            return;
        }
        int exponent = 0;
        static_cast<void>(std::frexp(x, &exponent));
        int const place = std::max(exponent - limits::digits - least, 0);
        auto const whole = static_cast<std::int64_t>(std::ldexp(x, -(place + least)));
        auto* const to = sum + place / 32;
        add_shifted(to, whole & low_bits, place % 32);
        add_shifted(to + 1, whole >> 32, place % 32);
    }

    /// The number of T that is nearest to a sum.
    static T rounded(std::int64_t const* sum) {
        bool const up = sum[numbers] != 0, down = sum[numbers + 1] != 0;
        if (up && down) return limits::quiet_NaN();
        if (up || down) return up ? limits::infinity() : -limits::infinity();
        auto units = carried(sum, 1);
        bool const negative = units.back() < 0;
        if (negative) units = carried(sum, -1);
        index_t top = numbers;
        while (top > 0 && units[static_cast<std::size_t>(top)] == 0) --top;
        auto const unit = [&](index_t w) {
            return w < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(units[static_cast<std::size_t>(w)]);
        };
        if (unit(top) == 0) return T{0};
        // The 64 bits from the first one on; the last of them says whether any bit follows.
        int const shift = std::countl_zero(unit(top)) - 32;
        std::uint64_t bits = (unit(top) << 32 | unit(top - 1)) << shift;
        if (shift > 0) bits |= unit(top - 2) >> (32 - shift);
        bool rest = (unit(top - 2) << shift & low_bits) != 0;
        for (index_t w = top - 3; w >= 0; --w) rest = rest || unit(w) != 0;
        T const size =
            std::ldexp(static_cast<T>(bits | std::uint64_t{rest}), static_cast<int>(32 * (top - 1)) - shift + least);
        return negative ? -size : size;
    }

private:
    static constexpr std::int64_t low_bits = 0xffffffff;

    static void add_shifted(std::int64_t* to, std::int64_t whole, int shift) {
        std::int64_t const shifted = whole * (std::int64_t{1} << shift);
        to[0] += shifted & low_bits;
        to[1] += shifted >> 32;
    }
    /// The sum times a sign in units from 0 to 2^32 - 1, but for the last one, which has the sign.
    static std::array<std::int64_t, std::size_t{numbers + 1}> carried(std::int64_t const* sum, int sign) {
        std::array<std::int64_t, std::size_t{numbers + 1}> units{};
        std::int64_t carry = 0;
        for (index_t w = 0; w < numbers; ++w) {
            carry += sign * sum[w];
            units[static_cast<std::size_t>(w)] = carry & low_bits;
            carry >>= 32;
        }
        units.back() = carry;
        return units;
    }
};

}  // namespace fovea::FOVEA_SET
