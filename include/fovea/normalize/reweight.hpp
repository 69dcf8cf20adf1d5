// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// reweight: a new weight, computed from the normalizer's weight and the indices.
///
///     w'_ij = f(w_ij, q_idx, kv_idx, head, batch, edge)
///     softmax | reweight(weight * param(gate)[head])
///     softmax | reweight(weight * select(random(seed) < p, 0, 1 / (1 - p)))    dropout
///
/// Cost: for a factor (weight * f(indices)), one multiplication on the tile. Otherwise the scores of a few queries over
/// all keys are kept, since final weights are known only at the end of a row.
/// Edge cases: an excluded pair keeps weight 0; the log-sum-exp is that of the normalizer. Several apply as piped.
/// Errors: shape_error where a table has fewer elements than the call reads. At compile time, before a normalizer,
/// without `weight`, and with scores or features.
/// Source: the operator FlexAttention of ONNX, its prob_mod.
template <class E>
struct reweight_t : stage<role::reweighting> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

    constexpr reweight_t() = default;
    constexpr explicit reweight_t(E const& e) : body(e) {}
    constexpr auto expression() const { return body; }
    std::string text() const { return "reweight(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto reweight(E const& e) {
    constexpr bool uses_weight = uses<E, weight_t>;
    constexpr bool uses_more = uses<E, score_t, q_t, k_t, out_t>;
    static_assert(uses_weight, "fovea: reweight needs an expression of weight, such as weight * param(gate)[head]");
    static_assert(!uses_more, "fovea: reweight may use weight, indices and tables only");
    if constexpr (!uses_weight || uses_more) return ill_formed{};
    else return reweight_t<E>(e);
}

template <class Other>
    requires(!fovea::expression<Other>)
constexpr ill_formed reweight(Other const&) {
    static_assert(is_ill_formed<Other>,
                  "fovea: reweight takes an expression of weight, such as weight * param(gate)[head]");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed reweight(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
