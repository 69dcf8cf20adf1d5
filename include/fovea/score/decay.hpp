// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/score/rescore.hpp>

#include <cmath>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// decay: scores times a power of the distance, as retention has it.
///
///     s' = s gamma^(q_idx - kv_idx)
///     dot | decay(param(gamma)[head]) | causal | unnormalized | weighted_sum
///
/// gamma is a number or an expression of head, above 0. Keys behind the query grow, so a causal mask belongs to it.
/// Cost: an exponential for each pair. Source: Sun et al. 2023, equation 5.
template <operand Gamma>
auto decay(Gamma const& gamma) {
    using namespace placeholders;
    if constexpr (std::is_arithmetic_v<Gamma>)
        return rescore(score * exp(std::log(static_cast<double>(gamma)) * (q_idx - kv_idx)));
    else return rescore(score * exp(log(gamma) * (q_idx - kv_idx)));
}

}  // namespace fovea::FOVEA_SET
