// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponentials of scores relative to a maximum, as powers of two.
#pragma once

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/row.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace fovea::FOVEA_SET::exponential {

/// Whether a score is so great that any other is equal to it or too far from it to matter, in whatever base: then
/// 2 is the base, since what is rounded off the product with log2 e would exceed the range of exponents.
template <class T>
constexpr auto is_huge(T score) {
    constexpr auto limit = 64 / std::numeric_limits<number_of<T>>::epsilon();  // above, neighbours are 64 apart
    return score > T(limit) || score < T(-limit);
}

/// exp(s_j - max) as a power of two, for scores s_j that are not much above the maximum.
template <class T>
struct power {
    T scale, shift;

    template <class Score>
    FOVEA_INLINE constexpr Score operator()(Score const& s_j) const {
        using std::exp2;
        using std::fma;
        return exp2(fma(s_j, Score(scale), Score(-shift)));
    }
};
template <class T>
FOVEA_INLINE constexpr power<T> power_below(T max) {
    using operations::select;
    using number = number_of<T>;
    T const scale = select::apply(is_huge(max), T(1), T(std::numbers::log2e_v<number>));
    return {scale, select::apply(max == T(excluded<number>), T(0), T(max * scale))};
}

/// The factor from weights relative to one maximum to those relative to another; exponents are rounded as in fold.
template <class T>
constexpr T rescaling(T from, T to) {
    using std::exp2;
    using number = number_of<T>;
    if (!any_lane(!(from == T(excluded<number>)))) return T(0);
    T const scale = T(std::numbers::log2e_v<number>);
    T const distance =
        operations::select::apply(is_huge(from) || is_huge(to), T(from - to), T(from * scale - to * scale));
    return operations::select::apply(from == T(excluded<number>), T(0), T(exp2(distance)));
}

}  // namespace fovea::FOVEA_SET::exponential
