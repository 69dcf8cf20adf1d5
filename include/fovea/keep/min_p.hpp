// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/print.hpp>
#include <fovea/spec/selection.hpp>

#include <cmath>

namespace fovea::FOVEA_SET {

/// min_p: a selection: the keys whose softmax weight is at least a share of the largest one.
///
///     j is kept where s_j >= max_k s_k + log p
///     keep(min_p(0.05)) | softmax
///
/// Shapes: `p` is a number above 0 and at most 1.
/// Cost: one pass over a row finds its largest score.
/// Edge cases: with p = 1 only the largest score stays, and all that are equal to it.
/// Errors: std::invalid_argument for any other number; at compile time, for what is no number.
/// Source: Nguyen et al. 2024 (min-p sampling), section 3.
struct min_p_t : key_selection {
    static constexpr bool idempotent = true, keeps_greatest = true;
    double p = 1;

    constexpr min_p_t() = default;
    constexpr explicit min_p_t(double share) : p(share) {}
    template <class Row>
    auto least(Row const& row) const {
        return row.max() + static_cast<typename Row::value_type>(std::log(p));
    }
    std::string text() const { return "min_p(" + print(literal<double>{p}) + ")"; }
};

template <class P>
constexpr min_p_t min_p(P const& p) {
    return min_p_t(detail::share_of_weight("min_p: p", p));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed min_p(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
