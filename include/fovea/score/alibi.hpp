// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/score/rescore.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// How slopes are chosen where the number of heads is no power of two.
enum class alibi_slopes_of {
    mixed,      // those of the power of two below, then every other one of the power of two above, as published
    geometric,  // 2^(-8 (h + 1) / heads) for every number of heads
};

/// The slope of each head: 2^(-8 (h + 1) / heads) where heads is a power of two.
inline std::vector<float> alibi_slopes(integer_argument heads, alibi_slopes_of convention = alibi_slopes_of::mixed) {
    auto const power = [](double exponent) { return static_cast<float>(std::exp2(exponent)); };
    index_t below = 1;
    while (2 * below <= heads) below *= 2;
    if (convention == alibi_slopes_of::geometric) below = heads;
    std::vector<float> slopes;
    for (index_t h = 0; h < below && h < heads; ++h)
        slopes.push_back(power(-8.0 * static_cast<double>(h + 1) / static_cast<double>(below)));
    for (index_t h = 0; below + h < heads; ++h)
        slopes.push_back(power(-4.0 * static_cast<double>(2 * h + 1) / static_cast<double>(below)));
    return slopes;
}

/// alibi: a penalty that grows with the distance of a key before its query, with a slope for each head.
///
///     s' = s + slope_h (kv_idx - q_idx)
///
/// Shapes: `slopes` is (head), kept as a view: your own slopes, or alibi_slopes(heads), the published ones.
/// Cost: one multiply-add for each pair.
/// Gradients: of the score and the slopes.
/// Edge cases: keys after the query gain, so use it with a causal mask. With `softmax` the position of the first query
/// does not matter, since a constant added to a row changes nothing.
/// Errors: shape_error where there are fewer slopes than heads.
/// Source: Press, Smith and Lewis 2022, section 3.
template <class Slopes>
constexpr auto alibi(Slopes&& slopes) {
    using namespace placeholders;
    return rescore(score + detail::table_param<1>(std::forward<Slopes>(slopes))[head] * (kv_idx - q_idx));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed alibi(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
