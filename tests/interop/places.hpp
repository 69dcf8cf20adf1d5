// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every place of the library that takes data takes what a library of containers has, and computes the same from it.
#pragma once

#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <vector>

namespace places {

using namespace fovea;
using namespace fovea::placeholders;

/// Whether two views show equal numbers.
template <class A, class B>
bool same(view<A, 1> const& a, view<B, 1> const& b) {
    if (a.extents != b.extents) return false;
    for (index_t i = 0; i < a.extent(0); ++i)
        if (a(i) != b(i)) return false;
    return true;
}
template <class A, class B>
bool same(view<A, 2> const& a, view<B, 2> const& b) {
    if (a.extents != b.extents) return false;
    for (index_t i = 0; i < a.extent(0); ++i)
        for (index_t j = 0; j < a.extent(1); ++j)
            if (a(i, j) != b(i, j)) return false;
    return true;
}

/// Numbers that differ from row to row and from feature to feature.
inline float number(index_t i, index_t j) { return static_cast<float>((i * 37 + j * 11 + i * j) % 19 - 9) / 9; }

template <class Matrix>
Matrix filled(Matrix m) {
    auto const v = as_view(m);
    for (index_t i = 0; i < v.extent(0); ++i)
        if constexpr (decltype(v)::rank == 1) v(i) = number(i, i);
        else
            for (index_t j = 0; j < v.extent(1); ++j) v(i, j) = number(i, j);
    return m;
}

/// The result of a call with containers of two kinds: matrix(rows, columns) and vector(size) make them.
template <class Matrix, class Vector>
auto results_with(Matrix const& matrix, Vector const& vector) {
    constexpr int n = 5, keys = 7, d = 6;
    auto const q = filled(matrix(n, d)), k = filled(matrix(keys, d)), w = filled(matrix(d, d)),
               b = filled(matrix(n, keys));
    auto const slopes = filled(vector(2)), shift = filled(vector(d)), gain = filled(vector(d / 2));
    auto result = matrix(n, d), log_sums = matrix(2, n);
    std::vector<tensor<float, 2>> results;
    auto const keep = [&](auto const& m) {
        auto const v = as_view(m);
        tensor<float, 2> copy(v.extents);
        for (index_t i = 0; i < v.extent(0); ++i)
            for (index_t j = 0; j < v.extent(1); ++j) copy(i, j) = v(i, j);
        results.push_back(copy);
    };
    auto const attention = project(linear(w, shift), w | rms_normalized(gain), transposed(w), heads<2>) | scaled_dot
                         | bias(b) | alibi(slopes) | where(param(b)(q_idx, kv_idx) > -0.5f) | softmax | weighted_sum
                         | output(w, shift);
    attend(attention, q, k, k, result, lse(log_sums));
    keep(result), keep(log_sums);

    auto reference_result = matrix(n, d);
    reference::attend(attention, queries(q), memory(k), reference_result);
    keep(reference_result);

    auto merged = matrix(n, d);
    auto const sums = filled(vector(n)), others = filled(vector(n));
    merge(result, sums, reference_result, others, merged);
    keep(merged);
    CHECK(explain(attention, q, k, k).find("scaled_dot") != std::string::npos);
    return results;
}

/// Operands, result, further outputs, tables, matrices and biases of projections, parts to merge.
template <class Matrix, class Vector>
void check_all_places(Matrix const& matrix, Vector const& vector) {
    auto const expected = results_with([](int rows, int columns) { return tensor<float, 2>({rows, columns}); },
                                       [](int size) { return std::vector<float>(static_cast<std::size_t>(size)); });
    auto const found = results_with(matrix, vector);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(same(found[i].view(), expected[i].view()));
    }
}

}  // namespace places
