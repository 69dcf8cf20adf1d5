// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds what has been computed to the types that were asked for.
#pragma once

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/finish.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <type_traits>

namespace fovea::reference {

/// A number in the type of a result; types of one's own, such as a half-precision struct, are made from float.
template <class T, class Real>
T rounded(Real x) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(x);
    else return static_cast<T>(static_cast<float>(x));
}

template <class T, class Real>
void write(view<T, 4> const& target, array<Real> const& computed) {
    for_each_element(computed.extents, [&](index_t b, index_t h, index_t n, index_t c) {
        target(b, h, n, c) = rounded<T>(computed(b, h, n, c));
    });
}

template <class T, int Rank, class Real>
void write(lse_output<T, Rank> const& asked, operand_shapes const& shapes, tensor<weighted_keys<Real>, 3> const& rows) {
    auto const target = lse_rows(asked.target, shapes);
    for_each_element(
        {shapes.batches(), shapes.heads(), shapes.queries(), 1},
        [&](index_t b, index_t h, index_t i, index_t) { target(b, h, i) = rounded<T>(rows(b, h, i).log_sum); });
}

/// A key that is listed twice has the sum of its weights.
template <class T, int Rank, class Real>
void write(weights_output<T, Rank> const& asked, operand_shapes const& shapes,
           tensor<weighted_keys<Real>, 3> const& rows) {
    auto const target = weights_pairs(asked.target, shapes);
    array<Real> dense(target.extents);
    for_each_element({shapes.batches(), shapes.heads(), shapes.queries(), 1},
                     [&](index_t b, index_t h, index_t i, index_t) {
                         auto const& row = rows(b, h, i);
                         for (std::size_t n = 0; n < row.keys.size(); ++n)
                             dense(b, h, i, row.keys[n]) += row.weights[n];
                     });
    write(target, dense);
}

}  // namespace fovea::reference
