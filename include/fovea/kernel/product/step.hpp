// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One step of a sum of products, as microkernels take it.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/simd/pack.hpp>

#include <concepts>

namespace fovea::FOVEA_SET::kernel {

/// A step of a sum of products: sum + a b, of packs whose lanes hold `per_step` elements of a row each. `scales`: the
/// factor of a row is applied to its sums, since the elements of a lane cannot be multiplied by it beforehand.
template <class Step>
concept step_of_products = requires {
    { Step::per_step } -> std::convertible_to<index_t>;
    { Step::scales } -> std::convertible_to<bool>;
};

/// The step of products of numbers.
struct number_products {
    static constexpr bool scales = false;
    static constexpr index_t per_step = 1;
    template <class V>
    FOVEA_INLINE V operator()(V const& sum, V const& a, V const& b) const {
        return fma(a, b, sum);
    }
};

/// The steps of a sum over so many elements.
template <class Step>
constexpr index_t steps_over(index_t elements) {
    if constexpr (step_of_products<Step>) return ceil_div(elements, Step::per_step);
    else return elements;
}

}  // namespace fovea::FOVEA_SET::kernel
