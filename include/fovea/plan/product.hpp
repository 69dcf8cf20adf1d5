// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which operands an architecture multiplies as they are stored.
#pragma once

#include <fovea/core/bfloat16.hpp>
#include <fovea/core/float16.hpp>
#include <fovea/simd/architecture.hpp>

#include <string_view>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

/// True where elements of these types are multiplied as they are stored, two to a lane, and summed in T: then nothing
/// is converted. kernel/product/ has the products.
template <class T, class Arch, class... Elements>
inline constexpr bool multiplies_as_stored =
    arch::multiplies_bfloat16<Arch> && std::is_same_v<T, float> && (std::is_same_v<Elements, bfloat16> && ...);

/// True where the matrix unit of an architecture multiplies elements of these types, summed in T.
template <class T, class Arch, class... Elements>
inline constexpr bool multiplies_in_matrix_unit =
    arch::has_matrix_unit<Arch> && std::is_same_v<T, float> && (std::is_same_v<Elements, bfloat16> && ...);

/// The bfloat16 numbers that a weight is split into for it: as many as keep the precision of a result.
template <class Result>
inline constexpr int weight_parts = std::is_same_v<Result, bfloat16> ? 1
                                  : std::is_same_v<Result, float16>  ? 2
                                                                     : 3;

}  // namespace fovea::FOVEA_SET::plan
