// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of the page, for any function that attends: attend in the browser, its definition where the page is tested.
// The page shows the marked lines.
#pragma once

#include "data/club_members.hpp"

#include <fovea/fovea.hpp>

#include <cmath>
#include <numbers>
#include <vector>

namespace browser {

using namespace fovea;

inline constexpr index_t club_heads = 8, positions = 24;

/// Weights of the karate club at a temperature, (batch 1, head, member, member).
void attend_to_friends(auto const& attend, float t, tensor<float, 4>& shares) {
    auto const x = club_members::features();
    auto const W = club_members::projection(club_heads), a = club_members::score_weights(club_heads);
    auto const friends = club_members::friends_and_self();
    tensor<float, 2> result({x.extent(0), W.extent(1)});
    //! [graph]
    auto const layer = project(W, W, W, heads<8>) | gatv2_score(a) | temperature(t) | neighbors(friends)
                     | softmax | weighted_sum | concat_heads;
    attend(layer, x, result, weights(shares));
    //! [graph]
}

/// Features of positions on a circle of radius 2, around which `period` positions go once.
inline tensor<float, 2> on_a_circle(float period) {
    tensor<float, 2> x({positions, 2});
    for (index_t i = 0; i < positions; ++i) {
        double const angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
        x(i, 0) = static_cast<float>(2 * std::cos(angle));
        x(i, 1) = static_cast<float>(2 * std::sin(angle));
    }
    return x;
}

/// The positions that are seen of those before: all, the last ones, or all with a penalty for each step.
enum class past { all, window, penalty };

/// Weights of positions on a circle, (position, position); `limit` is the length of the window, or the slope.
void attend_to_past(auto const& attend, past seen, float period, float limit, tensor<float, 2>& shares) {
    auto const x = on_a_circle(period);
    tensor<float, 2> result(x.extents);
    auto const left = static_cast<index_t>(limit);
    std::vector<float> const slope{limit};
    switch (seen) {
        case past::all:
            //! [causal]
            attend(scaled_dot | causal | softmax | weighted_sum, x, result, weights(shares));
            //! [causal]
            break;
        case past::window:
            //! [window]
            attend(scaled_dot | causal | sliding_window(left, 0) | softmax | weighted_sum, x, result, weights(shares));
            //! [window]
            break;
        case past::penalty:
            //! [alibi]
            attend(scaled_dot | alibi(slope) | causal | softmax | weighted_sum, x, result, weights(shares));
            //! [alibi]
            break;
    }
}

}  // namespace browser
