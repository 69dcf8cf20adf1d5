// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// cosine: the cosine of the angle between query and key.
///
///     s_ij = sum_c q_ic k_jc / (max(|q_i|, 1e-8) max(|k_j|, 1e-8))
///
/// Bounded by one. A vector of zeros scores 0 with everything.
/// Cost: one matrix product; the norms are computed once per query and once per key.
struct cosine_t : stage<role::score> {
    static constexpr std::string_view name = "cosine";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k) * (1 / max(1e-8, sqrt(sum(q * q)))) * (1 / max(1e-8, sqrt(sum(k * k))));
    }
};
inline constexpr cosine_t cosine{};

}  // namespace fovea::FOVEA_SET
