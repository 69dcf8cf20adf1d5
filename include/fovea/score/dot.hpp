// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// dot: the plain inner product of query and key.
///
///     s_ij = sum_c q_ic k_jc
///
/// Query (d) and key (d) have the same number of features.
/// Cost: one multiply-add per feature and pair, on a register-tiled matrix product.
struct dot_t : stage<role::score> {
    static constexpr std::string_view name = "dot";
    constexpr auto expression() const {
        using namespace placeholders;
        return sum(q * k);
    }
};
inline constexpr dot_t dot{};

}  // namespace fovea::FOVEA_SET
