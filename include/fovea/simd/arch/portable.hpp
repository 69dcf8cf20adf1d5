// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any processor: the vector extensions of GCC and Clang, which become its vectors where it has some.
#pragma once

#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/storage.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fovea::FOVEA_SET::kernel::portable {

template <class T>
inline constexpr int lanes = 16 / static_cast<int>(sizeof(T));

/// A vector of the compiler's that a number fills.
template <class T>
struct vector {
    using native [[gnu::vector_size(16)]] = T;
    native data;

    vector() = default;
    FOVEA_INLINE vector(native const& all) : data(all) {}
    FOVEA_INLINE explicit vector(T x) : data(filled(x)) {}

    FOVEA_INLINE friend vector operator+(vector const& a, vector const& b) { return a.data + b.data; }
    FOVEA_INLINE friend vector operator-(vector const& a, vector const& b) { return a.data - b.data; }
    FOVEA_INLINE friend vector operator*(vector const& a, vector const& b) { return a.data * b.data; }
    FOVEA_INLINE friend vector operator&(vector const& a, vector const& b) { return a.data & b.data; }
    FOVEA_INLINE friend vector operator|(vector const& a, vector const& b) { return a.data | b.data; }
    FOVEA_INLINE friend vector operator^(vector const& a, vector const& b) { return a.data ^ b.data; }
    FOVEA_INLINE friend vector operator~(vector const& a) { return ~a.data; }
    FOVEA_INLINE friend vector<integer_like<T>> operator<(vector const& a, vector const& b) { return a.data < b.data; }
    FOVEA_INLINE friend vector<integer_like<T>> operator<=(vector const& a, vector const& b) {
        return a.data <= b.data;
    }
    FOVEA_INLINE friend vector<integer_like<T>> operator==(vector const& a, vector const& b) {
        return a.data == b.data;
    }

private:
    FOVEA_INLINE static native filled(T x) {
        if constexpr (lanes<T> == 4) return native{x, x, x, x};
        else return native{x, x};
    }
};

/// Lanes of a, and of b after them, by their numbers.
template <int... Lane, class V>
FOVEA_INLINE V chosen(V const& a, V const& b) {
    return __builtin_shufflevector(a.data, b.data, Lane...);
}

}  // namespace fovea::FOVEA_SET::kernel::portable

namespace fovea::FOVEA_SET::kernel {

template <class T>
struct registers<T, arch::portable> {
    using vector = portable::vector<T>;
    using integers = portable::vector<integer_like<T>>;
    using mask = integers;  // all bits of a lane

    FOVEA_INLINE static vector load(T const* from) {
        vector r;
        std::memcpy(&r.data, from, sizeof r.data);
        return r;
    }
    FOVEA_INLINE static void store(T* to, vector const& a) { std::memcpy(to, &a.data, sizeof a.data); }
    FOVEA_INLINE static vector add(vector const& a, vector const& b) { return a + b; }
    FOVEA_INLINE static vector subtract(vector const& a, vector const& b) { return a - b; }
    FOVEA_INLINE static vector multiply(vector const& a, vector const& b) { return a * b; }
    /// In one step or two, as the compiler contracts it.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        return a.data * b.data + c.data;
    }
    FOVEA_INLINE static vector divide(vector const& a, vector const& b) { return a.data / b.data; }
    FOVEA_INLINE static vector select(mask const& m, vector const& a, vector const& b) {
        return m.data ? a.data : b.data;
    }
    FOVEA_INLINE static vector min(vector const& a, vector const& b) { return a.data < b.data ? a.data : b.data; }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) { return a.data > b.data ? a.data : b.data; }
    FOVEA_INLINE static vector abs(vector const& a) { return as_reals(as_integers(a) & integers(~sign)); }
    FOVEA_INLINE static vector sqrt(vector a) {
        for (int i = 0; i < portable::lanes<T>; ++i) a.data[i] = std::sqrt(a.data[i]);
        return a;
    }
    FOVEA_INLINE static vector floor(vector const& a) { return floor_by_rounding<T, registers>(a); }
    FOVEA_INLINE static bool any(mask const& m) {
        auto const halves = std::bit_cast<typename portable::vector<std::int64_t>::native>(m.data);
        return (halves[0] | halves[1]) != 0;
    }
    FOVEA_INLINE static void make_opaque(vector& a) {
#if defined(__SSE2__)
        asm("" : "+x"(a.data));
#elif defined(__aarch64__)
        asm("" : "+w"(a.data));
#elif defined(__ARM_NEON)
        if constexpr (sizeof(T) == 4) asm("" : "+w"(a.data));
        else asm("" : "+m"(a.data));
#elif defined(__VSX__)
        asm("" : "+wa"(a.data));
#elif defined(__VX__)
        asm("" : "+v"(a.data));
#else
        asm("" : "+m"(a.data));
#endif
    }
    FOVEA_INLINE static integers as_integers(vector const& a) { return std::bit_cast<integers>(a); }
    FOVEA_INLINE static vector as_reals(integers const& a) { return std::bit_cast<vector>(a); }
    FOVEA_INLINE static mask as_mask(integers const& m) { return m; }
    FOVEA_INLINE static vector to_real(integers const& a) {
        return __builtin_convertvector(a.data, typename vector::native);
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_left(integers const& a) {
        return a.data << Bits;
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_right(integers const& a) {
        return a.data >> Bits;
    }

private:
    static constexpr auto sign = std::numeric_limits<integer_like<T>>::min();
};

template <std::same_as<arch::portable> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        using halves [[gnu::vector_size(8)]] = std::uint16_t;
        halves four;
        std::memcpy(&four, from, sizeof four);
        return __builtin_convertvector(four, typename integers::native);
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        return typename integers::native{from[0], from[1], from[2], from[3]};
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint16_t>(a.data[i]);
    }
};

template <class T>
struct lanes_of<T, arch::portable> : generic_lanes<T, arch::portable> {
    using vector = pack<T, arch::portable>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static T sum(vector const& a) {
        auto const& e = a.value.data;
        if constexpr (single) return (e[0] + e[2]) + (e[1] + e[3]);
        else return e[0] + e[1];
    }
    FOVEA_INLINE static vector reversed(vector const& a) {
        if constexpr (single) return {portable::chosen<3, 2, 1, 0>(a.value, a.value)};
        else return {portable::chosen<1, 0>(a.value, a.value)};
    }
    /// Pairs of rows exchange single elements, then, in float, pairs of pairs exchange two.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        if constexpr (single) {
            auto const a = portable::chosen<0, 4, 1, 5>(rows[0].value, rows[1].value);
            auto const b = portable::chosen<2, 6, 3, 7>(rows[0].value, rows[1].value);
            auto const c = portable::chosen<0, 4, 1, 5>(rows[2].value, rows[3].value);
            auto const d = portable::chosen<2, 6, 3, 7>(rows[2].value, rows[3].value);
            rows[0] = vector(portable::chosen<0, 1, 4, 5>(a, c));
            rows[1] = vector(portable::chosen<2, 3, 6, 7>(a, c));
            rows[2] = vector(portable::chosen<0, 1, 4, 5>(b, d));
            rows[3] = vector(portable::chosen<2, 3, 6, 7>(b, d));
        } else {
            auto const upper = rows[0].value, lower = rows[1].value;
            rows[0] = vector(portable::chosen<0, 2>(upper, lower));
            rows[1] = vector(portable::chosen<1, 3>(upper, lower));
        }
    }
};

template <std::same_as<arch::portable> Arch>
struct integer_products<Arch> : word_columns<Arch> {
    using vector = pack<float, Arch>;
    using bits = registers<float, Arch>;
    static constexpr bool of_signed = false;

    /// The bytes of a word one after the other; in which order does not matter to their sum.
    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        auto const first = bits::as_integers(a.value).data, second = bits::as_integers(b.value).data;
        auto total = bits::as_integers(sum.value).data;
        unrolled<4>([&](auto byte)
                        FOVEA_LAMBDA { total += (first >> 8 * byte & 0xff) * (second << 8 * (3 - byte) >> 24); });
        return {bits::as_reals(total)};
    }
};

}  // namespace fovea::FOVEA_SET::kernel
