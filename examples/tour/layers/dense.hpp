// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a layer beside attention, in plain loops: this is not what this library is about.
#pragma once

#include <fovea/core/tensor.hpp>
#include <fovea/testing/random.hpp>

#include <cmath>

namespace layers {

using fovea::index_t;
using matrix = fovea::tensor<float, 2>;

/// A matrix of random weights, so small that rows keep their size.
inline matrix weights(fovea::testing::dice& random, index_t inputs, index_t outputs) {
    return fovea::testing::random_tensor<float, 2>(random, {inputs, outputs}, std::sqrt(3 / static_cast<double>(inputs)));
}

/// Rows of mean 0 and variance 1.
inline matrix layer_norm(matrix const& x) {
    matrix result(x.extents);
    index_t const n = x.extent(1);
    for (index_t i = 0; i < x.extent(0); ++i) {
        float mean = 0, square = 0;
        for (index_t c = 0; c < n; ++c) mean += x(i, c) / static_cast<float>(n);
        for (index_t c = 0; c < n; ++c) square += (x(i, c) - mean) * (x(i, c) - mean) / static_cast<float>(n);
        for (index_t c = 0; c < n; ++c) result(i, c) = (x(i, c) - mean) / std::sqrt(square + 1e-5f);
    }
    return result;
}

/// x + relu(y W1) W2, with y = layer_norm(x): the position-wise network behind every attention.
inline matrix feed_forward(matrix const& x, matrix const& first, matrix const& second) {
    auto const y = layer_norm(x);
    matrix result = x;
    for (index_t i = 0; i < x.extent(0); ++i)
        for (index_t h = 0; h < first.extent(1); ++h) {
            float hidden = 0;
            for (index_t c = 0; c < x.extent(1); ++c) hidden += y(i, c) * first(c, h);
            for (index_t c = 0; c < x.extent(1) && hidden > 0; ++c) result(i, c) += hidden * second(h, c);
        }
    return result;
}

}  // namespace layers
