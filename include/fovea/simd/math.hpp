// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementary functions on packs, with stated error bounds that tests/simd/math.cpp checks.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/simd/simd.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule; of ten or more terms the even and odd powers as two chains,
/// for latency.
template <class T, class Arch, std::size_t N>
FOVEA_INLINE pack<T, Arch> polynomial(pack<T, Arch> const& x, std::array<T, N> const& c) {
    using vector = pack<T, Arch>;
    if constexpr (N < 10) {
        vector sum(c[N - 1]);
        for (std::size_t i = N - 1; i-- > 0;) sum = fma(sum, x, vector(c[i]));
        return sum;
    } else {
        auto const square = x * x;
        vector chain(c[N - 1]), other(c[N - 2]);
        for (std::size_t i = N - 2; i-- > 0; std::swap(chain, other)) chain = fma(chain, square, vector(c[i]));
        return fma(chain, x, other);
    }
}

namespace detail {
template <class T>
inline constexpr T log2_e = T(1.44269504088896340735992468100189214L);
template <class T>
inline constexpr T ln2_high = sizeof(T) == 4 ? T(0.693145751953125) : T(0x1.62e42fee00000p-1);
template <class T>
inline constexpr T ln2_low = sizeof(T) == 4 ? T(1.42860682030941723212e-6L) : T(1.90821492927058770002e-10L);

/// (exp(r) - 1 - r) / r^2 on 0 <= r <= ln(2): with r + r^2 of it exp(r) - 1 has a relative error of 1.5e-8 in float, by
/// degree 4, and 2.3e-17 in double, by degree 9 (minimax).
template <class T>
inline constexpr auto expm1_coefficients = [] {
    if constexpr (sizeof(T) == 4) {
        return std::array<T, 5>{0.500000954f, 0.166647002f, 0.0417974852f, 0.00795844197f, 0.00186269020f};
    } else {
        return std::array<T, 10>{T(0.49999999999999494849),     T(0.16666666666702420474),
                                 T(0.041666666657894584694),    T(0.0083333334397464374334),
                                 T(0.0013888881489747743718),   T(0.00019841587032494659572),
                                 T(0.000024792932407709160299), T(2.7707603793208702301e-6),
                                 T(2.5958961621112427943e-7),   T(3.4380143909115621695e-8)};
    }
}();

/// 2^r on 0 <= r <= 1: minimax, relative error 7.5e-8 of degree 5 in float, 3.1e-18 of degree 11 in double.
template <class T>
inline constexpr auto exp2_coefficients = [] {
    if constexpr (sizeof(T) == 4) {
        return std::array<T, 6>{0.999999925067315968f,  0.693153073129445892f, 0.240153617398228006f,
                                0.0558263171427028809f, 0.008989341115125989f, 0.00187757628181320011f};
    } else {
        return std::array<T, 12>{
            T(0.9999999999999999969454),    T(0.6931471805599462346037),    T(0.2402265069590547135855),
            T(0.05550410866571114055036),   T(0.009618129098792621710025),  T(0.001333355866157575735228),
            T(0.0001540351144649055245158), T(0.0000152531902488312433855), T(0.000001320819349574712151812),
            T(1.025445737901455022272e-7),  T(6.554457162654839149083e-9),  T(6.272434464802889564822e-10)};
    }
}();

/// Cody-Waite argument reduction: x - n ln 2 for integral n, or with a part of ln 2; ln 2 in two parts. The difference
/// is opaque, since -ffast-math would join the parts.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> cody_waite_remainder(pack<T, Arch> const& n, pack<T, Arch> const& x, T part = T{1}) {
    auto const without_high = opaque(fma(n, pack<T, Arch>(-part * ln2_high<T>), x));
    return fma(n, pack<T, Arch>(-part * ln2_low<T>), without_high);
}

/// exp(r) - 1 on 0 <= r <= ln(2).
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> expm1_of_reduced(pack<T, Arch> const& r) {
    return fma(r * r, polynomial(r, expm1_coefficients<T>), r);
}
}  // namespace detail

/// exp(x), within 2 ulp where the result is a normal number; below that 0, with AVX-512 the subnormal number; inf above
/// the largest.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> exp(pack<T, Arch> const& x) {
    using vector = pack<T, Arch>;
    constexpr bool any_exponent = lanes_of<T, Arch>::scales_any_exponent;
    constexpr T lowest = sizeof(T) == 4 ? T(any_exponent ? -104 : -88) : T(any_exponent ? -746 : -709);
    constexpr T highest_exponent = std::numeric_limits<T>::max_exponent - 1;  // above it exp(r) grows instead
    auto const clamped = max(x, vector(lowest));
    auto const n = min(floor(clamped * detail::log2_e<T>), vector(highest_exponent));
    auto const r = detail::cody_waite_remainder(n, clamped);
    auto const power = detail::expm1_of_reduced(r) + T{1};
    if constexpr (any_exponent) return lanes_of<T, Arch>::scale(power, n);
    else return opaque(power) * lanes_of<T, Arch>::two_to(n);  // of parts of the sum, products may be subnormal
}

/// 2^x, within 3 ulp where the result is a normal number; below that 0, with AVX-512 the subnormal number; inf above
/// the largest. 2^0 may be 1 - 2^-24.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> exp2(pack<T, Arch> const& x) {
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;
    if constexpr (lane_operations::scales_any_exponent) {
        if constexpr (requires { lane_operations::two_to_fraction(x); })
            return lane_operations::scale(lane_operations::two_to_fraction(x), x);
        else return lane_operations::scale(polynomial(lane_operations::fraction(x), detail::exp2_coefficients<T>), x);
    } else {
        constexpr T lowest = sizeof(T) == 4 ? T(-127) : T(-1023), highest = sizeof(T) == 4 ? T(128) : T(1024);
        auto const clamped = min(max(x, vector(lowest)), vector(highest));
        auto const n = floor(clamped);
        return opaque(polynomial(clamped - n, detail::exp2_coefficients<T>)) * lane_operations::two_to(n);
    }
}

namespace detail {
/// (e - r) / r^2 with e = (exp(2 r) - 1) / 2 on |r| <= ln(2) / 4: minimax, 1.8e-8 of e.
inline constexpr std::array<float, 5> half_expm1_coefficients{0.999999962992f, 0.666661736972f, 0.33333760569f,
                                                              0.133864754035f, 0.0444240527647f};
}  // namespace detail

/// tanh(x), within 5 ulp: e / (e + 1) with e = (exp(2 x) - 1) / 2; in double twice that, of |x|, and the sign of x.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> tanh(pack<T, Arch> const& x) {
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;
    if constexpr (sizeof(T) == 4) {
        constexpr T largest = T(9.70406055);  // 14 ln(2), where e is a power of two; beyond it the result rounds to 1
        auto const within = max(min(x, vector(largest)), vector(-largest));
        auto const n = floor(fma(within, vector(2 * detail::log2_e<T>), vector(T(0.5))));  // the nearest integer
        auto const r = detail::cody_waite_remainder(n, within, T(0.5));
        auto const of_r = fma(r * r, polynomial(r, detail::half_expm1_coefficients), r);
        auto const two_n = lane_operations::two_to(n);
        auto const of_n = opaque(fma(two_n, vector(T(0.5)), vector(T(-0.5))));  // -ffast-math would subtract last
        auto const e = fma(two_n, of_r, of_n);
        return lane_operations::quotient(e, e + T{1});
    } else {
        auto const twice = min(abs(x), vector(T(21))) * T{2};  // beyond it the result rounds to 1
        auto const n = floor(twice * detail::log2_e<T>), two_n = lane_operations::two_to(n);
        auto const e = fma(two_n, detail::expm1_of_reduced(detail::cody_waite_remainder(n, twice)), two_n - T{1});
        auto const magnitude = lane_operations::quotient(e, e + T{2});
        return select(x < vector(T{0}), -magnitude, magnitude);
    }
}

namespace detail {
/// erf(x) / x - 1 in x^2, on |x| <= 1: minimax, 1.3e-9 of erf(x).
inline constexpr std::array<float, 7> erf_coefficients{
    0.1283791657f, -0.3761262582f, 0.1128358515f, -0.02685381194f, 0.005188327694f, -0.0008010193752f, 7.853861925e-5f};
/// -log2(1 - erf(x)) on 1 <= x <= 4: minimax, 1.1e-9 of erf(x).
inline constexpr std::array<float, 7> erfc_exponent_coefficients{
    0.0004927375688f, 1.626045889f, 0.9206485424f, 0.1487514699f, -0.03150560396f, 0.004252556677f, -0.0002688868062f};
}  // namespace detail

/// erf(x), within 3 ulp in float; in double lane by lane as the standard library has it.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> erf(pack<T, Arch> const& x) {
    using vector = pack<T, Arch>;
    if constexpr (sizeof(T) == 4) {
        auto const magnitude = min(abs(x), vector(4.0f));  // beyond 4 the result rounds to 1
        auto const small = fma(x, polynomial(x * x, detail::erf_coefficients), x);
        auto const large = vector(1.0f) - exp2(-polynomial(magnitude, detail::erfc_exponent_coefficients));
        return select(magnitude < vector(1.0f), small, select(x < vector(0.0f), -large, large));
    } else {
        alignas(64) auto lane = lanes_of<T, Arch>::to_array(x);
        for (T& element : lane) element = std::erf(element);
        return vector::load(lane.data());
    }
}

/// 1 / x, within 1 ulp where both are normal numbers; with AVX-512 NaN for zeros and infinities in float.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> reciprocal(pack<T, Arch> const& x) {
    return lanes_of<T, Arch>::reciprocal(x);
}

/// log(x), within 2 ulp for normal x; -inf at 0, NaN below it.
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> log(pack<T, Arch> const& x) {
    using vector = pack<T, Arch>;
    using bits = registers<T, Arch>;
    using integer = integer_like<T>;
    constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr integer sqrt_half = sizeof(T) == 4 ? integer(0x3f3504f3) : static_cast<integer>(0x3fe6a09e667f3bcd);
    using integers = typename bits::integers;
    // x = 2^k m with m between sqrt(1/2) and sqrt(2); log m = 2 atanh((m - 1) / (m + 1))
    auto const offset = bits::as_integers(x.value) - integers(sqrt_half);
    auto const exponent = bits::template shift_right<mantissa>(offset);
    vector const k(bits::to_real(exponent));
    vector const m(bits::as_reals(bits::as_integers(x.value) - bits::template shift_left<mantissa>(exponent)));
    auto const s = (m - T{1}) / (m + T{1});
    constexpr auto series = [] {
        std::array<T, sizeof(T) == 4 ? 6 : 12> c{};
        for (std::size_t i = 0; i < c.size(); ++i) c[i] = T(2) / static_cast<T>(2 * i + 3);
        return c;
    }();
    auto const squared = s * s;
    auto const tail = s * squared * polynomial(squared, series);
    auto const result = fma(k, vector(detail::ln2_high<T>), fma(k, vector(detail::ln2_low<T>), tail) + s * T{2});
    constexpr T infinity = ieee::infinity<T>;
    auto const regular = select(x < vector(infinity), result, x);
    return select(vector(T{0}) < x, regular, select(x == vector(T{0}), vector(-infinity), vector(ieee::nan<T>)));
}

}  // namespace fovea::FOVEA_SET::kernel
