// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The elementary functions of <cmath> that have derivatives: name, value of numbers, and range over intervals of each.
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/core/interval_functions.hpp>
#include <fovea/expr/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace fovea::FOVEA_SET {

namespace elementary {
using reals = interval<double>;

inline constexpr double infinity = ieee::infinity<double>;

/// Functions that never decrease where they are defined.
template <class F>
struct rising {
    static constexpr double first = -infinity, last = infinity;
    static reals range(reals x) {
        return x.lo < F::first || x.hi > F::last ? reals::everything() : reals{F::of(x.lo), F::of(x.hi)};
    }
};
/// Sines and cosines: of an infinite number they are none.
struct waves {
    static reals range(reals x) { return x.lo == -infinity || x.hi == infinity ? reals::everything() : reals{-1, 1}; }
};

struct sin : waves {
    static constexpr std::string_view name = "sin";
    static auto of(auto x) { return std::sin(x); }
};
struct cos : waves {
    static constexpr std::string_view name = "cos";
    static auto of(auto x) { return std::cos(x); }
};
struct tan : rising<tan> {
    static constexpr double last = std::numbers::pi / 2, first = -last;
    static constexpr std::string_view name = "tan";
    static auto of(auto x) { return std::tan(x); }
};
struct asin : rising<asin> {
    static constexpr double first = -1, last = 1;
    static constexpr std::string_view name = "asin";
    static auto of(auto x) { return std::asin(x); }
};
struct acos {
    static constexpr std::string_view name = "acos";
    static auto of(auto x) { return std::acos(x); }
    static reals range(reals x) {
        return x.lo < -1 || x.hi > 1 ? reals::everything() : reals{std::acos(x.hi), std::acos(x.lo)};
    }
};
struct atan : rising<atan> {
    static constexpr std::string_view name = "atan";
    static auto of(auto x) { return std::atan(x); }
};
/// The angle of the point (x, y): atan2(y, x).
struct atan2 {
    static constexpr std::string_view name = "atan2";
    static auto of(auto y, auto x) { return std::atan2(y, x); }
    static reals range(reals, reals) { return {-std::numbers::pi, std::numbers::pi}; }
};
struct sinh : rising<sinh> {
    static constexpr std::string_view name = "sinh";
    static auto of(auto x) { return std::sinh(x); }
};
struct cosh {
    static constexpr std::string_view name = "cosh";
    static auto of(auto x) { return std::cosh(x); }
    static reals range(reals x) {
        auto const size = abs(x);
        return {std::cosh(size.lo), std::cosh(size.hi)};
    }
};
struct asinh : rising<asinh> {
    static constexpr std::string_view name = "asinh";
    static auto of(auto x) { return std::asinh(x); }
};
struct acosh : rising<acosh> {
    static constexpr double first = 1;
    static constexpr std::string_view name = "acosh";
    static auto of(auto x) { return std::acosh(x); }
};
struct atanh : rising<atanh> {
    static constexpr double first = -1, last = 1;
    static constexpr std::string_view name = "atanh";
    static auto of(auto x) { return std::atanh(x); }
};
struct exp2 : rising<exp2> {
    static constexpr std::string_view name = "exp2";
    static auto of(auto x) { return std::exp2(x); }
};
struct expm1 : rising<expm1> {
    static constexpr std::string_view name = "expm1";
    static auto of(auto x) { return std::expm1(x); }
};
struct log2 : rising<log2> {
    static constexpr double first = 0;
    static constexpr std::string_view name = "log2";
    static auto of(auto x) { return std::log2(x); }
};
struct log10 : rising<log10> {
    static constexpr double first = 0;
    static constexpr std::string_view name = "log10";
    static auto of(auto x) { return std::log10(x); }
};
struct log1p : rising<log1p> {
    static constexpr double first = -1;
    static constexpr std::string_view name = "log1p";
    static auto of(auto x) { return std::log1p(x); }
};
struct cbrt : rising<cbrt> {
    static constexpr std::string_view name = "cbrt";
    static auto of(auto x) { return std::cbrt(x); }
};
struct erfc {
    static constexpr std::string_view name = "erfc";
    static auto of(auto x) { return std::erfc(x); }
    static reals range(reals x) { return {std::erfc(x.hi), std::erfc(x.lo)}; }
};
struct hypot {
    static constexpr std::string_view name = "hypot";
    static auto of(auto x, auto y) { return std::hypot(x, y); }
    static reals range(reals x, reals y) {
        auto const a = abs(x), b = abs(y);
        return {std::hypot(a.lo, b.lo), std::hypot(a.hi, b.hi)};
    }
};
/// x to the power of y. Below 0 it is a number for whole y only; of -0 negative powers have a sign.
struct pow {
    static constexpr std::string_view name = "pow";
    static auto of(auto x, auto y) { return std::pow(x, y); }
    static reals range(reals x, reals y) {
        if (x.lo < 0 || (x.lo == 0 && y.lo < 0)) return reals::everything();
        // from 0 on it is greatest, and least, in a corner
        auto const [lo, hi] =
            std::minmax({std::pow(x.lo, y.lo), std::pow(x.lo, y.hi), std::pow(x.hi, y.lo), std::pow(x.hi, y.hi)});
        return {lo, hi};
    }
};
}  // namespace elementary

namespace scalar {
template <class F, class... A>
    requires numbers<A...>
auto value_of(F, A... a) {
    return F::of(static_cast<real<std::common_type_t<A...>>>(a)...);
}
}  // namespace scalar

template <class F, class... A>
    requires(detail::interval_kind<A>::is || ...)
auto value_of(F, A const&... a) {
    using real = detail::common_real<A...>;
    if ((detail::may_be_nan(interval<double>(detail::as_interval(a))) || ...)) return interval<real>::everything();
    auto const range = F::range(interval<double>(detail::as_interval(a))...);
    return detail::with_function_error<real>(range.lo, range.hi);
}

namespace operations {
/// A function of namespace elementary as an operation of the language.
template <class F>
struct elementary_function {
    static constexpr std::string_view name = F::name;
    static constexpr bool is_approximated = true;
    FOVEA_INLINE static auto apply(auto const&... a) {
        using scalar::value_of;
        return value_of(F{}, a...);
    }
};
}  // namespace operations

}  // namespace fovea::FOVEA_SET
