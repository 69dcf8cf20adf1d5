// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/in_parts.hpp>

namespace fovea::FOVEA_SET {

inline constexpr bf16_parts_t<2> bf16x2{};
inline constexpr bf16_parts_t<3> bf16x3{};
inline constexpr q8_blocks_t q8{};

/// precision: products of float from numbers of fewer bits: parts of bfloat16 in a matrix unit, or integers.
///
///     x = x_0 + x_1 + x_2;   x y = x_0 y_0 + x_0 y_1 + x_1 y_0 + x_0 y_2 + x_1 y_1 + x_2 y_0
///     q_i = s n_i;   s = max(abs(q)) / 127
///
/// `bf16x3` takes these six products, `bf16x2` the first three, of x_0 + x_1: 16 bits of each number.
/// `q8` rounds few queries to 32 integers n_i at a time, where keys are q8_0, q4_0 or q4_1, and adds products exactly.
/// Cost: six products of bfloat16 for one of float, or three; that of float where `explain` says so.
/// Gradients: in float arithmetic. Edge cases: the error of `bf16x3` is no greater than that of float; parts and
/// products below 1.2e-38 count as 0; scores of an infinite query and keys of q4_1 are NaN.
/// Errors: at compile time, where no float is multiplied: in double, with running_state, max_pool or edges.
/// Source: Henry, Tang and Heinecke 2019 (Leveraging the bfloat16 artificial intelligence datatype).
template <int Parts>
constexpr auto precision(bf16_parts_t<Parts> parts) {
    return precision_t<bf16_parts_t<Parts>>{parts};
}
constexpr auto precision(q8_blocks_t format) { return precision_t<q8_blocks_t>{format}; }
template <class... Others>
constexpr ill_formed precision(Others const&...) {
    static_assert(never<Others...>, "fovea: precision takes bf16x2, bf16x3 or q8: what stands for each number");
    return {};
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
