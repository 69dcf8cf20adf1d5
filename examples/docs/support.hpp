// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the programs of these pages.
#pragma once

#include <fovea/core/tensor.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

/// Ends the program with a sentence where something does not hold.
inline void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(1);
}

inline bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); }

/// Whether all elements of two tensors are near one another.
template <class T, int Rank>
bool are_near(fovea::tensor<T, Rank> const& a, fovea::tensor<T, Rank> const& b) {
    bool near = a.extents == b.extents;
    for (std::size_t i = 0; i < a.elements.size(); ++i)
        near = near && is_near(static_cast<double>(a.elements[i]), static_cast<double>(b.elements[i]));
    return near;
}

/// Three batches of two heads, eight queries and nine keys of two features; query 5 and key 3 of batch 2 and head 1 are
/// (2, -3) and (0.5, 4).
struct operands {
    fovea::tensor<float, 4> query{{3, 2, 8, 2}}, key{{3, 2, 9, 2}}, value{{3, 2, 9, 1}}, result{{3, 2, 8, 1}},
        pairs{{3, 2, 8, 9}};

    operands() {
        query(2, 1, 5, 0) = 2;
        query(2, 1, 5, 1) = -3;
        key(2, 1, 3, 0) = 0.5f;
        key(2, 1, 3, 1) = 4;
    }
};
