// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <Eigen/Core>

namespace unfused {

using fovea::index_t;

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// One head of a (batch, head, position, feature) view as a matrix (position, feature).
template <class T>
auto head_of(fovea::view<T, 4> const& v, index_t batch, index_t head) {
    using stored = std::conditional_t<std::is_const_v<T>, matrix<std::remove_const_t<T>> const, matrix<T>>;
    return Eigen::Map<stored, 0, Eigen::OuterStride<>>(v.data + v.offset(batch, head, 0, 0), v.extent(2), v.extent(3),
                                                       Eigen::OuterStride<>(v.stride(2)));
}

/// One row of a (head, feature) view as a column vector.
template <class T>
auto row_of(fovea::view<T const, 2> const& v, index_t row) {
    return Eigen::Map<vector<T> const>(v.data + v.offset(row, 0), v.extent(1));
}

/// exp(score - max) / sum, in place, for a row, column or segment of scores.
template <class Scores>
void softmax(Scores&& scores) {
    scores = (scores.array() - scores.maxCoeff()).exp();
    scores *= 1 / scores.sum();
}

}  // namespace unfused
