// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/random.hpp>

inline constexpr auto by_heads = fovea::scaled_dot | fovea::softmax | fovea::weighted_sum;

/// Three heads on random operands, and what they give before any finish: (batch, head, position, feature).
struct heads_case {
    fovea::testing::dice random{12};
    fovea::tensor<double, 4> q = make({2, 3, 4, 5}), k = make({2, 3, 6, 5}), v = make({2, 3, 6, 2});
    fovea::tensor<double, 4> by_head{{2, 3, 4, 2}};

    heads_case() { fovea::reference::attend(by_heads, q, k, v, by_head); }

    /// The result with finishes: (batch, position, feature).
    fovea::tensor<double, 3> finished(auto const& spec, fovea::index_t features) const {
        fovea::tensor<double, 3> out({2, 4, features});
        fovea::reference::attend(spec, q, k, v, out);
        return out;
    }

    fovea::tensor<double, 4> make(fovea::extents_t<4> sizes) {
        return fovea::testing::random_tensor<double, 4>(random, sizes);
    }
};
