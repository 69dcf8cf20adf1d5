// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specifications of kernels over all pairs of positions, or a band of them, with arguments of the call.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

#include <cstdint>

namespace example_kernels {

using namespace fovea;

/// A query sees the keys at most `left` before and `right` after it.
constexpr auto sliding_window = takes<"left, right">([](std::int64_t left, std::int64_t right) {
    return scaled_dot | fovea::sliding_window(left, right) | softmax | weighted_sum;
});

/// The farther a key lies before its query, the less it counts; a slope for each head.
constexpr auto alibi = takes<"slopes(heads)">(
    [](view<float const, 1> slopes) { return scaled_dot | fovea::alibi(slopes) | causal | softmax | weighted_sum; });

/// Scores between -cap and cap.
constexpr auto softcap =
    takes<"cap">([](float cap) { return scaled_dot | fovea::softcap(cap) | softmax | weighted_sum; });

/// The score of a small network with one hidden layer; v holds the weights of its output.
constexpr auto additive = takes<"v(features)">(
    [](view<float const, 1> v) { return fovea::additive(v) | softmax | weighted_sum; });

/// A number for each head and each distance from -reach to reach; there are 2 reach + 1 distances.
constexpr auto relative_bias = takes<"table(heads, distances)">([](view<float const, 2> table) {
    return scaled_dot | fovea::relative_bias(table) | softmax | weighted_sum;
});

/// Each weight is the sigmoid of its score plus a bias, about -log(keys) (Ramapuram et al. 2024).
constexpr auto sigmoid = takes<"bias">([](float bias) {
    using namespace fovea::placeholders;
    return scaled_dot | weigh(fovea::sigmoid(score + bias)) | weighted_sum;
});

}  // namespace example_kernels
