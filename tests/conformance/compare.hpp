// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <sstream>
#include <string>

namespace conformance {

/// The type that the implementation under test computed in.
enum class arithmetic { f32, f64 };

/// An element may differ by `absolute + relative * |expected|`.
struct tolerance {
    double absolute = 0, relative = 0;

    double operator()(double expected) const {
        return absolute + (std::isfinite(expected) ? relative * std::abs(expected) : 0);
    }
};

/// The allowance of cases/SOURCES.md; nothing here depends on the operator, the family or the case.
///
///     f16 output                    atol = max(4 err_ref, 1e-3)                    rtol = 1e-3
///     computed in float32           atol = max(8 err_ref, 1e-6 max(1, max_abs))    rtol = 1e-5
///     computed in float64, f32      atol = 3e-7 max(1, max_abs)                    rtol = 2e-7
///     computed in float64, f64      atol = 1e-13 max(1, max_abs)                   rtol = 1e-13
///     i64, bool                     exact
inline tolerance allowance(tensor const& expected, arithmetic computed) {
    if (expected.dtype == dtype::i64 || expected.dtype == dtype::boolean) return {};
    if (!expected.err_ref || !expected.max_abs)
        throw malformed(expected.file.string() + ": case.json gives no err_ref or no max_abs to compare with");
    double const err_ref = *expected.err_ref;
    double const size = std::max(1.0, *expected.max_abs);
    if (expected.dtype == dtype::f16) return {std::max(4 * err_ref, 1e-3), 1e-3};
    if (computed == arithmetic::f32) return {std::max(8 * err_ref, 1e-6 * size), 1e-5};
    if (expected.dtype == dtype::f64) return {1e-13 * size, 1e-13};
    return {3e-7 * size, 2e-7};
}

/// How one result compares: the element that is worst in relation to its allowance.
struct comparison {
    bool pass = true;
    double worst = 0;     // largest difference over allowance; infinite where no allowance helps
    std::string message;  // the worst element, or what else is wrong
};

namespace detail {

inline std::string subscript(shape const& sizes, std::size_t flat) {
    shape index(sizes.size());
    for (auto axis = sizes.size(); axis-- > 0;) {
        index[axis] = static_cast<std::ptrdiff_t>(flat % static_cast<std::size_t>(sizes[axis]));
        flat /= static_cast<std::size_t>(sizes[axis]);
    }
    std::string text = "[";
    for (auto const each : index) text += (text.size() > 1 ? ", " : "") + std::to_string(each);
    return text + "]";
}

inline std::string worst_element(tensor const& expected, std::size_t flat, double got, double want, double allowed) {
    std::ostringstream text;
    text.precision(expected.dtype == dtype::f64 ? 17 : 9);
    text << expected.name << subscript(expected.shape, flat) << ": got " << got << ", expected " << want;
    text.precision(3);
    text << ", off by " << std::abs(got - want) << ", allowed " << allowed;
    return text.str();
}

}  // namespace detail

/// Compares a result with an output or a gradient of a case. Minus infinity equals minus infinity and nothing else;
/// a NaN equals nothing.
template <class T>
comparison compare(tensor const& expected, std::span<T const> got, shape const& got_shape, arithmetic computed) {
    constexpr auto never = std::numeric_limits<double>::infinity();
    if (got_shape != expected.shape)
        return {false, never,
                expected.name + " has shape " + to_string(got_shape) + ", expected " + to_string(expected.shape)};
    if (got.size() != expected.size())
        return {false, never,
                expected.name + " has " + std::to_string(got.size()) + " elements, expected "
                    + std::to_string(expected.size())};

    auto const allowed = allowance(expected, computed);
    auto const against = [&](auto const& values) {
        comparison result;
        std::size_t worst_at = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto const want = static_cast<double>(values[i]), have = static_cast<double>(got[i]);
            double ratio = never;
            if (std::isfinite(want) && std::isfinite(have)) {
                double const off = std::abs(have - want), limit = allowed(want);
                ratio = off <= limit ? (limit > 0 ? off / limit : 0) : std::max(off / limit, std::nextafter(1.0, 2.0));
            } else if (want == have) {
                ratio = 0;
            }
            if (ratio > result.worst) result.worst = ratio, worst_at = i;
        }
        result.pass = result.worst <= 1;
        if (!values.empty())
            result.message = detail::worst_element(expected, worst_at, static_cast<double>(got[worst_at]),
                                                   static_cast<double>(values[worst_at]),
                                                   allowed(static_cast<double>(values[worst_at])));
        return result;
    };
    switch (expected.dtype) {
        case dtype::i64:
            return against(expected.as<std::int64_t>());
        case dtype::boolean:
            return against(expected.as<std::uint8_t>());
        default:
            return against(expected.as<double>());
    }
}

}  // namespace conformance
