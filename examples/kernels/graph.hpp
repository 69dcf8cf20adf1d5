// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specifications of kernels over the edges of a graph; features of the nodes come projected.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

namespace example_kernels {

using namespace fovea;

/// Graph attention: query, key and value are the same projected features.
constexpr auto gat = takes<"a_target(heads, features), a_source(heads, features), edges">(
    [](view<float const, 2> a_target, view<float const, 2> a_source, graph_view edges) {
        return gat_score(a_target, a_source, 0.2f) | neighbors(edges) | softmax | weighted_sum;
    });

/// Dynamic graph attention: the activation stands between the sum of query and key and the product with a.
constexpr auto gatv2 = takes<"a(heads, features), edges">([](view<float const, 2> a, graph_view edges) {
    return gatv2_score(a, 0.2f) | neighbors(edges) | softmax | weighted_sum;
});

}  // namespace example_kernels
