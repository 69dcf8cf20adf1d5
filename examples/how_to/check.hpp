// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the how-to programs: operands, a plain loop to compare with, and the end of a program that is wrong.
#pragma once

#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

namespace how_to {

using fovea::index_t;
using fovea::tensor;
using fovea::view;

/// Ends the program where something does not hold.
inline void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(EXIT_FAILURE);
}

template <int Rank>
tensor<float, Rank> random_tensor(fovea::extents_t<Rank> extents) {
    static std::mt19937 engine(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    tensor<float, Rank> t(extents);
    for (auto& x : t) x = uniform(engine);
    return t;
}

/// The largest difference of two elements; infinity where one of them is NaN.
template <int Rank>
float difference(tensor<float, Rank> const& a, tensor<float, Rank> const& b) {
    require(a.extents == b.extents, "both have the same extents");
    float largest = 0;
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
        float const here = std::abs(a.elements[i] - b.elements[i]);
        if (std::isnan(here)) return std::numeric_limits<float>::infinity();
        largest = std::max(largest, here);
    }
    return largest;
}

/// Softmax attention in double, as it is defined. score(b, h, i, j) is the score of a pair; minus infinity excludes it.
template <class Score>
tensor<float, 4> plain_attention(Score const& score, index_t heads, index_t queries, view<float const, 4> value) {
    index_t const batches = value.extent(0), keys = value.extent(2), features = value.extent(3);
    index_t const group = heads / value.extent(1);
    tensor<float, 4> result({batches, heads, queries, features});
    std::vector<double> weight(static_cast<std::size_t>(keys));
    for (index_t b = 0; b < batches; ++b)
        for (index_t h = 0; h < heads; ++h)
            for (index_t i = 0; i < queries; ++i) {
                double total = 0;
                for (index_t j = 0; j < keys; ++j) {
                    auto& w = weight[static_cast<std::size_t>(j)];
                    w = std::exp(score(b, h, i, j));
                    total += w;
                }
                for (index_t c = 0; c < features; ++c) {
                    double sum = 0;
                    for (index_t j = 0; j < keys; ++j)
                        if (double const w = weight[static_cast<std::size_t>(j)]; w > 0)
                            sum += w * static_cast<double>(value(b, h / group, j, c));
                    result(b, h, i, c) = total > 0 ? static_cast<float>(sum / total) : 0;
                }
            }
    return result;
}

/// The product of the features of a query and a key.
inline double product(view<float const, 4> q, view<float const, 4> k, index_t b, index_t h, index_t i, index_t j) {
    double sum = 0;
    index_t const group = q.extent(1) / k.extent(1);
    for (index_t c = 0; c < q.extent(3); ++c)
        sum += static_cast<double>(q(b, h, i, c)) * static_cast<double>(k(b, h / group, j, c));
    return sum;
}

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

}  // namespace how_to
