// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which operands an architecture multiplies as they are stored, or in parts of bfloat16.
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

/// True where elements of these types are multiplied as they are stored, two to a lane, and summed in T: then nothing
/// is converted. kernel/product/ has the products.
template <class T, class Arch, class... Elements>
inline constexpr bool multiplies_as_stored =
    arch::multiplies_bfloat16<Arch> && std::is_same_v<T, float> && (std::is_same_v<Elements, bfloat16> && ...);

/// The bfloat16 numbers, its parts, whose sum an element of this type is, whatever it is; 0 where it may be none.
template <class Element>
inline constexpr int parts_of = 0;
template <>
inline constexpr int parts_of<bfloat16> = 1;
template <>
inline constexpr int parts_of<std::int8_t> = 1;
template <>
inline constexpr int parts_of<std::uint8_t> = 1;
template <>
inline constexpr int parts_of<float16> = 2;
template <>
inline constexpr int parts_of<float> = 3;

/// Up to this many bfloat16 splits, split multiplication is faster than float32, so it is used without precision(...).
inline constexpr int most_parts_unasked = 2;

/// True where the matrix unit of an architecture multiplies elements of these types, summed in T: all of their parts,
/// or `Asked` of these where a specification asks for so many (spec/in_parts.hpp).
template <class T, class Arch, int Asked, class... Elements>
inline constexpr bool multiplies_in_matrix_unit =
    arch::has_matrix_unit<Arch> && std::is_same_v<T, float>
    && ((parts_of<Elements> > 0 && (Asked > 0 || parts_of<Elements> <= most_parts_unasked)) && ...);

/// How many parts stand for a number of each operand, and for a weight. A part is at most 2^-9 of the one before it, so
/// of the products of parts those are taken whose places, from 0 on, add up to less than `of_scores`, or `of_values`.
template <int Query = 1, int Key = 1, int Value = 1, int Weight = 1, int Of_scores = 2, int Of_values = 2>
struct parts_of_operands {
    static constexpr int query = Query, key = Key, value = Value, weight = Weight;
    static constexpr int of_scores = Of_scores, of_values = Of_values;
    static constexpr bool several_in_scores = query > 1 || key > 1, several_in_values = value > 1 || weight > 1;
};

/// The parts of a weight that keep the precision of a result.
template <class Result, int Asked = 0>
inline constexpr int weight_parts =
    std::min(std::is_same_v<Result, bfloat16> || std::is_same_v<Result, float16> ? parts_of<Result> : parts_of<float>,
             Asked > 0 ? Asked : parts_of<float>);

namespace detail {
template <class Element, int Most>
inline constexpr int parts_up_to = std::min(parts_of<Element>, Most);
}  // namespace detail

/// The parts that keep the precision of a result: a weight has as many as an element of it.
template <int Asked, class Query, class Key, class Value, class Result, int Weight = weight_parts<Result, Asked>,
          int Of_values = std::max(Weight, 2), int Of_scores = std::max(Asked, Of_values)>
using parts_for = parts_of_operands<detail::parts_up_to<Query, Of_scores>, detail::parts_up_to<Key, Of_scores>,
                                    detail::parts_up_to<Value, Of_values>, Weight, Of_scores, Of_values>;

}  // namespace fovea::FOVEA_SET::plan
