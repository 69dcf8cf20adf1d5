// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/tensor.hpp>

#include <cstring>
#include <vector>

/// Whether numbers are the same bit by bit, so that NaN is NaN and 0 is not -0.
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T, int Rank>
bool same_bits(fovea::tensor<T, Rank> const& a, fovea::tensor<T, Rank> const& b) {
    return same_bits(a.elements, b.elements);
}
