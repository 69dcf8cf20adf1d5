// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/score/rescore.hpp>

#include <concepts>

namespace fovea::FOVEA_SET {

/// gumbel: adds noise to the scores, so that the best key is drawn with the probability of its softmax weight.
///
///     s'_ij = s_ij - log(-log(u_ij)),   u_ij uniform between 0 and 1
///     scaled_dot | gumbel(seed) | hardmax | weighted_sum    sampled hard attention
///     scaled_dot | gumbel(seed) | temperature(0.5) | softmax | weighted_sum    gumbel-softmax
///
/// Cost: 20 rounds of integer arithmetic and two logarithms for each pair.
/// Edge cases: `u` is a function of seed, batch, head, query and key, so a call gives the same bits for any tiling and
/// any number of threads. random(seed) is u itself, for any expression: `reweight` has dropout.
/// Source: Jang, Gu and Poole 2017, equations 1 and 2; Salmon et al. 2011 (Threefry-2x32 with 20 rounds) for u.
template <class Integer>
constexpr auto gumbel(Integer const& seed) {
    return rescore(placeholders::score - log(-log(random(seed))));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed gumbel(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
