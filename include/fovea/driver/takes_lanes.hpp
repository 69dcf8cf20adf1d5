// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/operands.hpp>
#include <fovea/plan/normalizing.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// True where queries can stand in lanes: the score is one product with keys and what is computed of it, rows can be
/// normalized lane by lane, and operands are of the type that is computed in.
template <class T, class Recipe, class Operands>
constexpr bool takes_query_lanes() {
    using parts = std::remove_cvref_t<decltype(Recipe::score.parts)>;
    using normalizer_type = std::remove_const_t<decltype(Recipe::normalize)>;
    if constexpr (is_paged<decltype(Operands::key)> || is_paged<decltype(Operands::value)>) return false;
    else
        return std::is_same_v<std::remove_cvref_t<decltype(*Operands::query.data)>, T>
            && std::is_same_v<element_of_rows<decltype(Operands::key)>, T>
            && std::is_same_v<element_of_rows<decltype(Operands::value)>, T> && plan::is_one_product<parts>
            && !reads_a_row_of_query<std::remove_cvref_t<decltype(Recipe::score.pointwise)>>
            && !reads_a_row_of_query<std::remove_const_t<decltype(Recipe::predicate)>>
            && plan::normalizing<normalizer_type, T>::takes_lanes
            && !row_dependent_normalizer<normalizer_type> && !Recipe::reweights && !Operands::looks_at_rows
            && linear_aggregator<std::remove_const_t<decltype(Recipe::aggregate)>>;
}

}  // namespace fovea::FOVEA_SET::driver
