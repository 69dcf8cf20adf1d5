// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vectors of an architecture and their operations, of which simd/arch/ has those that differ, and vectors made of
// arrays. The only file that includes xsimd, any supported version.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/simd/architecture.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#include <xsimd/xsimd.hpp>
#endif

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel::emulation {

template <class T, int Lanes>
struct vector {
    std::array<T, std::size_t{Lanes}> lane{};

    vector() = default;
    explicit vector(T value) { lane.fill(value); }
};

template <int Lanes>
struct lane_mask {
    std::array<bool, std::size_t{Lanes}> lane{};
};

template <class T, int N, class F>
vector<T, N> each(vector<T, N> const& a, F f) {
    vector<T, N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i]);
    return r;
}
template <class T, int N, class F>
vector<T, N> each(vector<T, N> const& a, vector<T, N> const& b, F f) {
    vector<T, N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}
template <class T, int N, class F>
lane_mask<N> test(vector<T, N> const& a, vector<T, N> const& b, F f) {
    lane_mask<N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}
template <int N, class F>
lane_mask<N> both(lane_mask<N> const& a, lane_mask<N> const& b, F f) {
    lane_mask<N> r;
    for (std::size_t i = 0; i < N; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
}

/// f of two numbers; integers wrap around, as those of real vectors do.
template <class T, class F>
T wrapped(T x, T y, F f) {
    if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;
        return static_cast<T>(f(static_cast<bits>(x), static_cast<bits>(y)));
    } else {
        return f(x, y);
    }
}

template <class T, int N>
vector<T, N> operator+(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l + r; }); });
}
template <class T, int N>
vector<T, N> operator-(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l - r; }); });
}
template <class T, int N>
vector<T, N> operator*(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return wrapped(x, y, [](auto l, auto r) { return l * r; }); });
}
template <class T, int N>
vector<T, N> operator/(vector<T, N> const& a, vector<T, N> const& b) {
    return each(a, b, [](T x, T y) { return static_cast<T>(x / y); });
}
template <class T, int N>
lane_mask<N> operator<(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x < y; });
}
template <class T, int N>
lane_mask<N> operator<=(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x <= y; });
}
template <class T, int N>
lane_mask<N> operator==(vector<T, N> const& a, vector<T, N> const& b) {
    return test(a, b, [](T x, T y) { return x == y; });
}
template <int N>
lane_mask<N> operator&(lane_mask<N> const& a, lane_mask<N> const& b) {
    return both(a, b, [](bool x, bool y) { return x && y; });
}
template <int N>
lane_mask<N> operator|(lane_mask<N> const& a, lane_mask<N> const& b) {
    return both(a, b, [](bool x, bool y) { return x || y; });
}
template <int N>
lane_mask<N> operator~(lane_mask<N> const& a) {
    return both(a, a, [](bool x, bool) { return !x; });
}

}  // namespace fovea::FOVEA_SET::kernel::emulation

namespace fovea::FOVEA_SET::kernel {

/// The signed integer as wide as T.
template <class T>
using integer_like = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// 1.5 * 2^mantissa: adding it rounds a number of less than 2^(mantissa - 1) to an integer, the low bits of the sum.
template <class T>
inline constexpr T rounding_constant = sizeof(T) == 4 ? T(12582912) : T(6755399441055744);

/// registers: the operations on the vectors of one architecture, as it does them best.
template <class T, class Arch>
struct registers;

/// The floor by rounding to one of the two nearest integers, which is corrected. All is opaque, since -ffast-math would
/// cancel the constants and reorder what uses the result.
template <class T, class Registers>
FOVEA_INLINE typename Registers::vector floor_by_rounding(typename Registers::vector const& a) {
    using vector = typename Registers::vector;
    vector sum = a + vector(rounding_constant<T>);
    Registers::make_opaque(sum);
    vector nearby = sum - vector(rounding_constant<T>);
    Registers::make_opaque(nearby);
    vector result = nearby - Registers::select(a < nearby, vector(T{1}), vector(T{0}));
    Registers::make_opaque(result);
    return result;
}

#if defined(__x86_64__) || defined(__aarch64__)
/// The architecture as xsimd calls it, `type`; simd/arch/ says it.
template <class Arch>
struct xsimd_arch;

/// The operations on the vectors of one architecture, in the terms of xsimd; simd/arch/ overrides those that an
/// architecture does otherwise.
template <class T, class Arch>
struct generic_registers {
    using vector = xsimd::batch<T, typename xsimd_arch<Arch>::type>;
    using mask = typename vector::batch_bool_type;
    using integers = xsimd::batch<integer_like<T>, typename xsimd_arch<Arch>::type>;

    // The operations that kernels use most act on the native register: every inlined call costs compile time.
    using native = typename vector::register_type;
    using unaligned [[gnu::may_alias, gnu::aligned(alignof(T))]] = native;
    FOVEA_INLINE static vector load(T const* from) { return vector(*reinterpret_cast<unaligned const*>(from)); }
    FOVEA_INLINE static void store(T* to, vector const& a) { *reinterpret_cast<unaligned*>(to) = a.data; }
    FOVEA_INLINE static vector add(vector const& a, vector const& b) { return vector(a.data + b.data); }
    FOVEA_INLINE static vector subtract(vector const& a, vector const& b) { return vector(a.data - b.data); }
    FOVEA_INLINE static vector multiply(vector const& a, vector const& b) { return vector(a.data * b.data); }
    /// a * b + c in one instruction where there is one.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) { return xsimd::fma(a, b, c); }
    /// a / b, rounded correctly.
    FOVEA_INLINE static vector divide(vector const& a, vector const& b) { return a / b; }
    FOVEA_INLINE static vector select(mask const& m, vector const& a, vector const& b) {
        return xsimd::select(m, a, b);
    }
    /// b where either is NaN.
    FOVEA_INLINE static vector min(vector const& a, vector const& b) { return xsimd::min(a, b); }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) { return xsimd::max(a, b); }
    FOVEA_INLINE static vector abs(vector const& a) { return xsimd::abs(a); }
    FOVEA_INLINE static vector sqrt(vector const& a) { return xsimd::sqrt(a); }
    /// In every rounding mode.
    FOVEA_INLINE static vector floor(vector const& a) { return xsimd::floor(a); }
    FOVEA_INLINE static bool any(mask const& m) { return xsimd::any(m); }
    FOVEA_INLINE static void make_opaque(vector& a) {
#if defined(__x86_64__)
        asm("" : "+v"(a.data));
#elif defined(__aarch64__)
        asm("" : "+w"(a.data));
#endif
    }

    /// The bits of a number as an integer, and back.
    FOVEA_INLINE static integers as_integers(vector const& a) {
        return integers(std::bit_cast<typename integers::register_type>(a.data));
    }
    FOVEA_INLINE static vector as_reals(integers const& a) {
        return vector(std::bit_cast<typename vector::register_type>(a.data));
    }
    /// A mask over the integers as a mask over the reals of the same width.
    FOVEA_INLINE static mask as_mask(typename integers::batch_bool_type const& m) {
        return mask(std::bit_cast<typename mask::register_type>(m.data));
    }
    /// 64-bit integers without an instruction: both halves become the low bits of a real, 2^52 + low and
    /// 2^84 + 2^32 (high + 2^31), which are added; xsimd adds in an order that -ffast-math changes.
    FOVEA_INLINE static vector to_real(integers const& a) {
        if constexpr (sizeof(T) == 8) {
            using wide = xsimd::batch<std::uint64_t, typename xsimd_arch<Arch>::type>;
            wide const bits(a.data);
            wide const low = (bits & wide(0xffffffffU)) | wide(0x4330000000000000U);
            wide const high = (bits >> 32) ^ wide(0x4530000080000000U);
            vector upper(std::bit_cast<native>(high.data) - vector(0x1.00000801p+84).data);  // both constants at once
            make_opaque(upper);
            return upper + vector(std::bit_cast<native>(low.data));
        } else {
            return xsimd::to_float(a);
        }
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_left(integers const& a) {
        return a << Bits;
    }
    template <int Bits>
    FOVEA_INLINE static integers shift_right(integers const& a) {
        return a >> Bits;
    }
};
#endif

/// The operations of `registers` on arrays.
template <class T, int Bytes, int Registers, bool Matrix_unit>
struct registers<T, arch::emulated<Bytes, Registers, Matrix_unit>> {
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    using vector = emulation::vector<T, lanes>;
    using mask = emulation::lane_mask<lanes>;
    using integers = emulation::vector<integer_like<T>, lanes>;

    static vector load(T const* from) {
        vector r;
        for (std::size_t i = 0; i < lanes; ++i) r.lane[i] = from[i];
        return r;
    }
    static void store(T* to, vector const& a) {
        for (std::size_t i = 0; i < lanes; ++i) to[i] = a.lane[i];
    }
    static vector add(vector const& a, vector const& b) { return a + b; }
    static vector subtract(vector const& a, vector const& b) { return a - b; }
    static vector multiply(vector const& a, vector const& b) { return a * b; }
    static vector fma(vector const& a, vector const& b, vector const& c) { return a * b + c; }
    static vector divide(vector const& a, vector const& b) { return a / b; }
    static vector select(mask const& m, vector const& a, vector const& b) {
        vector r;
        for (std::size_t i = 0; i < lanes; ++i) r.lane[i] = m.lane[i] ? a.lane[i] : b.lane[i];
        return r;
    }
    static vector min(vector const& a, vector const& b) {
        return emulation::each(a, b, [](T x, T y) { return x < y ? x : y; });
    }
    static vector max(vector const& a, vector const& b) {
        return emulation::each(a, b, [](T x, T y) { return x > y ? x : y; });
    }
    static vector abs(vector const& a) {
        return emulation::each(a, [](T x) { return std::abs(x); });
    }
    static vector sqrt(vector const& a) {
        return emulation::each(a, [](T x) { return std::sqrt(x); });
    }
    static vector floor(vector const& a) {
        return emulation::each(a, [](T x) { return std::floor(x); });
    }
    static bool any(mask const& m) {
        for (bool lane : m.lane)
            if (lane) return true;
        return false;
    }
    static void make_opaque(vector& a) { asm("" : "+m"(a)); }
    static integers as_integers(vector const& a) { return std::bit_cast<integers>(a); }
    static vector as_reals(integers const& a) { return std::bit_cast<vector>(a); }
    static mask as_mask(mask const& m) { return m; }
    static vector to_real(integers const& a) {
        vector r;
        for (std::size_t i = 0; i < lanes; ++i) r.lane[i] = static_cast<T>(a.lane[i]);
        return r;
    }
    template <int Bits>
    static integers shift_left(integers const& a) {
        return emulation::each(a, [](integer_like<T> x) {
            return static_cast<integer_like<T>>(static_cast<std::make_unsigned_t<integer_like<T>>>(x) << Bits);
        });
    }
    template <int Bits>
    static integers shift_right(integers const& a) {
        return emulation::each(a, [](integer_like<T> x) { return static_cast<integer_like<T>>(x >> Bits); });
    }
};

}  // namespace fovea::FOVEA_SET::kernel
