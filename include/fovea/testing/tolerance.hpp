// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far a result may be from the definition. The allowance is measured, not guessed: it grows with what plain loops
// in the same type lose on the same operands.
#pragma once

#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>
#include <type_traits>

namespace fovea::FOVEA_SET::testing {

/// tolerance: an element may differ by absolute + relative * |expected|.
struct tolerance {
    double absolute = 0;
    double relative = 0;

    /// Infinities must be equal, and a NaN must meet a NaN.
    bool allows(double expected, double got) const {
        if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
        if (std::isinf(expected) || std::isinf(got)) return expected == got;
        return std::abs(got - expected) <= absolute + relative * std::abs(expected);
    }
};

/// tolerance_for<T>: the allowance of a result that was computed in T.
///
///     absolute = max(8 err, unit * max(1, max |expected|)),  relative = 10 unit;  unit = 1e-6 in float, 1e-14 in
///     double
///
/// `plain` is what plain loops in T give; err is its greatest distance from the expected elements.
template <class T, class Expected>
tolerance tolerance_for(std::span<Expected const> expected, std::span<T const> plain) {
    constexpr double unit = std::is_same_v<T, float> ? 1e-6 : 1e-14;
    double err = 0, size = 1;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!std::isfinite(expected[i]) || !std::isfinite(plain[i])) continue;
        size = std::max(size, static_cast<double>(std::abs(expected[i])));
        err = std::max(err, static_cast<double>(std::abs(static_cast<Expected>(plain[i]) - expected[i])));
    }
    return {std::max(8 * err, unit * size), 10 * unit};
}

/// Errors: law_broken naming the worst element.
template <class Expected, class Got>
void check_close(std::string const& what, std::span<Expected const> expected, std::span<Got const> got,
                 tolerance const& allowed) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        auto const want = static_cast<double>(expected[i]), have = static_cast<double>(got[i]);
        if (allowed.allows(want, have)) continue;
        std::ostringstream text;
        text.precision(17);
        text << what << "[" << i << "] is " << have << ", the reference has " << want << "; allowed are "
             << allowed.absolute << " + " << allowed.relative << " |x|";
        raise_error(law_broken(text.str()));
    }
}

}  // namespace fovea::FOVEA_SET::testing
