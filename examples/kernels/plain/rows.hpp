// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of plain loops: the rows of an array, scores of two rows, and what makes weights of a row of scores.
#pragma once

#include "kernels/calls/operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace plain {

using calls::real;

/// Rows of one array; keys and values that lie in pages are found through the table.
template <class Element>
struct rows {
    fovea_array array;
    std::int32_t const* page_table = nullptr;
    std::int64_t pages = 0;

    Element* operator()(std::int64_t batch, std::int64_t head, std::int64_t position) const {
        if (page_table != nullptr) {
            std::int64_t const slots = array.extents[2];
            batch = page_table[batch * pages + position / slots];
            position %= slots;
        }
        return static_cast<Element*>(array.data) + batch * array.strides[0] + head * array.strides[1]
             + position * array.strides[2];
    }
};

template <class Element>
real<Element> dot(Element const* x, Element const* y, std::int64_t count) {
    real<Element> sum = 0;
    for (std::int64_t c = 0; c < count; ++c) sum += real<Element>(x[c]) * real<Element>(y[c]);
    return sum;
}

template <class Real>
void softmax(Real* scores, std::int64_t count) {
    Real const greatest = *std::max_element(scores, scores + count);
    Real total = 0;
    for (std::int64_t j = 0; j < count; ++j) total += scores[j] = std::exp(scores[j] - greatest);
    for (std::int64_t j = 0; j < count; ++j) scores[j] /= total;
}

/// The weights are max(s - tau, 0); tau follows from the scores above it, which are found by sorting.
template <class Real>
void sparsemax(Real* scores, std::int64_t count) {
    std::vector<Real> sorted(scores, scores + count);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    Real sum = 0, tau = 0, above = 0;
    for (Real const s : sorted) {
        sum += s;
        ++above;
        if (1 + above * s > sum) tau = (sum - 1) / above;
        else break;
    }
    for (std::int64_t j = 0; j < count; ++j) scores[j] = std::max(scores[j] - tau, Real(0));
}

/// The weights are max(s / 2 - tau, 0)^2. Where the k greatest halves are above tau, their mean and the sum of squares
/// of what they differ from it by give tau: k (mean - tau)^2 + squares = 1.
template <class Real>
void entmax15(Real* scores, std::int64_t count) {
    Real const greatest = *std::max_element(scores, scores + count);
    for (std::int64_t j = 0; j < count; ++j) scores[j] = (scores[j] - greatest) / 2;
    std::vector<Real> sorted(scores, scores + count);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    Real mean = 0, squares = 0, tau = 0, above = 0;
    for (Real const s : sorted) {
        ++above;
        Real const before = s - mean;
        mean += before / above;
        squares += before * (s - mean);
        if (squares > 1) break;
        Real const found = mean - std::sqrt((1 - squares) / above);
        if (found > s) break;
        tau = found;
    }
    for (std::int64_t j = 0; j < count; ++j) {
        Real const root = std::max(scores[j] - tau, Real(0));
        scores[j] = root * root;
    }
}

}  // namespace plain
