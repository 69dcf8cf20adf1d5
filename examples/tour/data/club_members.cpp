// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data/club_members.hpp"

#include "bench/yardstick/random.hpp"
#include "data/karate_club.hpp"

#include <algorithm>
#include <vector>

namespace club_members {
namespace {

using fovea::index_t;
using namespace karate_club;

constexpr index_t feature_count = 8, head_size = 4;

/// friends[a][b]: whether a and b are friends, or the same.
std::vector<std::vector<bool>> acquaintance() {
    std::vector<std::vector<bool>> friends(members + 1, std::vector<bool>(members + 1));
    for (std::size_t i = 0; i <= members; ++i) friends[i][i] = true;
    for (auto const& [a, b] : friendships)
        friends[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] =
            friends[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = true;
    return friends;
}

}  // namespace

fovea::graph friends_and_self() {
    std::vector<fovea::graph::edge> edges;
    for (index_t i = 0; i < members; ++i) edges.push_back({i, i});
    for (auto const& [a, b] : friendships) {
        edges.push_back({a - 1, b - 1});
        edges.push_back({b - 1, a - 1});
    }
    return {members, edges};
}

fovea::tensor<float, 2> features() {
    auto const friends = acquaintance();
    auto result = yardstick::random_tensor<float, 2>({members, feature_count}, 1);
    for (std::size_t i = 1; i <= members; ++i) {
        float near = 0, all = 0;
        for (std::size_t j = 1; j <= members; ++j) {
            if (!friends[i][j]) continue;
            near += static_cast<float>(friends[j][instructor]) - static_cast<float>(friends[j][officer]);
            all += 1;
        }
        result(static_cast<index_t>(i) - 1, 0) = near / all;
    }
    return result;
}

fovea::tensor<float, 2> projection(index_t heads) {
    auto result = yardstick::random_tensor<float, 2>({feature_count, heads * head_size}, 2, 0.15);
    for (index_t h = 0; h < heads; ++h) {
        result(0, h * head_size) = 1.2f;
        result(0, h * head_size + 1) = -1.2f;
    }
    return result;
}

fovea::tensor<float, 2> score_weights(index_t heads) {
    auto result = yardstick::random_tensor<float, 2>({heads, head_size}, 3, 0.9);
    for (index_t h = 0; h < heads; ++h) result(h, 0) = result(h, 1) = 3;
    return result;
}

}  // namespace club_members
