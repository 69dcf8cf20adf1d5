// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/row.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// quotient_state: what a normalizer carries that divides weights by their sum, or by that of their sizes.
///
/// Weights, and their sum, are kept in a unit that is 1 unless they would leave the range of T in it: then it is a
/// power of two near the greatest of them.
template <class T>
struct quotient_state {
    T sum = 0;   // in units
    T unit = 1;  // a power of two
    T most = 0;  // about the greatest size of a weight so far

    /// Takes in weights that a row holds and that come to `added`, as `add(row)` computes it; returns the factor for
    /// what was accumulated before.
    template <class Row, class Add>
    constexpr T fold(Row const& row, T added, Add const& add) {
        if (unit == 1 && is_comfortable(operations::abs::apply(added))) {
            most = std::max(most, T(operations::abs::apply(added)));
            sum += added;
            return T(1);
        }
        T const greatest = row.max_of(
            [](auto const& w) FOVEA_LAMBDA { return std::remove_cvref_t<decltype(w)>(operations::abs::apply(w)); });
        if (!(greatest > 0) || greatest > std::numeric_limits<T>::max()) {  // nothing, or what no unit helps
            sum += added;
            return T(1);
        }
        T const before = unit, all = std::max(most, greatest);
        if (all > unit * high || (most == 0 && !is_comfortable(all))) unit = power_of_two_near(all);
        T const rescale = most == 0 ? T(1) : before / unit;
        if (unit != 1) {
            row.rescale(T(1) / unit);
            added = add(row);
        }
        most = all;
        sum = sum * rescale + added;
        return rescale;
    }

    /// Joins two states; the factors for what was accumulated with each.
    constexpr std::pair<T, T> merge(quotient_state const& other) {
        T const common = most >= other.most ? unit : other.unit;
        std::pair<T, T> const factors{most == 0 ? T(1) : unit / common, other.most == 0 ? T(1) : other.unit / common};
        sum = sum * factors.first + other.sum * factors.second;
        unit = common;
        most = std::max(most, other.most);
        return factors;
    }

    /// The last factor of the weights, of which `beside` is a part of the divisor.
    constexpr T finish(T beside = 0) const {
        T const divisor = sum + beside / unit;
        return divisor == 0 ? T(0) : T(1) / divisor;
    }

private:
    static constexpr T low = T(0x1p-40), high = T(0x1p60);  // sums and products of these stay in range
    static constexpr bool is_comfortable(T size) { return size >= low && size <= high; }
    static T power_of_two_near(T size) {
        using limits = std::numeric_limits<T>;
        int const exponent = std::clamp(std::ilogb(size), limits::min_exponent - 1, limits::max_exponent - 2);
        return std::ldexp(T(1), exponent);  // its inverse is a normal number too
    }
};

}  // namespace fovea::FOVEA_SET
