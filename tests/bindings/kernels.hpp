// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of the tests: each kind of argument that C can hand over.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

namespace kernels {
using namespace fovea;
using namespace fovea::placeholders;

inline constexpr auto alibi_causal = takes<"slopes(heads)">(
    [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | causal | softmax | weighted_sum; });

/// A function of a user's, which each architecture defines by its own instructions, for the linker to merge.
[[gnu::noinline]] inline float at_most(float most, float x) { return x < most ? x : most; }

/// Scores between -cap and cap:
/// the tanh of what is divided by it.
inline constexpr auto capped = takes<"cap">([](float cap) {
    float const limit = at_most(1e30f, cap);
    return scaled_dot | rescore(limit * tanh(score / limit)) | softmax | weighted_sum;
});

inline constexpr auto window = takes<"left, right">(
    [](std::int32_t left, index_t right) { return scaled_dot | sliding_window(left, right) | softmax | weighted_sum; });

/// A table whose last axis the call does not know, of the numbers that a kernel computes with.
inline constexpr auto stepped = takes<"steps(heads, distances)">([]<class T>(view<T const, 2> steps) {
    return scaled_dot | rescore(score + param(steps)(head, (q_idx + kv_idx) % steps.extent(1))) | softmax
         | weighted_sum;
});

/// A table with an element for each edge of a graph.
inline constexpr auto neighbours = takes<"edges, bias(edges)">([](graph_view edges, view<float const, 1> bias) {
    return scaled_dot | rescore(score + param(bias)[edge]) | neighbors(edges) | softmax | weighted_sum;
});

/// A function that takes its place in the list of kernels.
inline constexpr auto visible = [](view<std::int32_t const, 1> lengths) {
    return scaled_dot | key_lengths(lengths) | softmax | weighted_sum;
};

/// Conditions for each pair, eight in a byte, beside some in a byte each.
inline constexpr auto listed =
    takes<"bits(queries, keys), bytes(queries, keys)">([](view<bit const, 2> bits, view<bool const, 2> bytes) {
        return scaled_dot | mask_tensor(bits) | mask_tensor(bytes) | softmax | weighted_sum;
    });

inline constexpr auto packed = takes<"">([] { return scaled_dot | causal | softmax | weighted_sum; }).of_sequences();

}  // namespace kernels
