// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/reference/normalize.hpp>

#include <numeric>
#include <vector>

/// The weights of one row of scores.
template <class N, class T = double>
std::vector<T> weights_of(N const& n, std::vector<T> scores) {
    std::vector<fovea::index_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), fovea::index_t{0});
    fovea::reference::normalize(n, fovea::reference::row<T>{scores, keys});
    return scores;
}

/// The fused loops, as comparisons with the reference call them.
inline constexpr auto fused = [](auto const&... arguments) { fovea::attend(arguments...); };
