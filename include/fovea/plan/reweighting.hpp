// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a reweighting only scales, so that no row has to be kept for it.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET::plan {

/// True where a reweighting only scales: weights that are not final yet may take the factor as well, and no row is
/// kept.
template <class E>
inline constexpr bool scales_weight = std::is_same_v<E, weight_t>;
template <class A, class B>
inline constexpr bool scales_weight<node<operations::times, A, B>> =
    (scales_weight<A> && !uses<B, weight_t>) || (!uses<A, weight_t> && scales_weight<B>);
template <class A, class B>
inline constexpr bool scales_weight<node<operations::divided, A, B>> = scales_weight<A> && !uses<B, weight_t>;
template <class A>
inline constexpr bool scales_weight<node<operations::negate, A>> = scales_weight<A>;

}  // namespace fovea::FOVEA_SET::plan
