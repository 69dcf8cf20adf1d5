// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// reweight: a new weight from the one that the normalizer gave and the indices.
///
///     softmax | reweight(weight * param(gate)[head])
///     softmax | reweight(select(random(seed) < p, 0, weight / (1 - p)))       dropout
///
/// Pairs that take no part keep weight 0; the log-sum-exp is that of the normalizer. Several pipe one into the other.
/// Cost: a factor of the weight is applied on the tile; for anything else the scores of a few queries over all keys
/// are kept, since final weights are known at the end of a row only.
/// Errors: none. Source: operator FlexAttention of ONNX, its prob_mod.
template <class E>
struct reweight_t : stage<role::reweighting> {
    [[no_unique_address]] E body{};

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
    static_assert(!uses_more, "fovea: reweight may use weight and indices only");
    if constexpr (!uses_weight || uses_more) return ill_formed{};
    else return reweight_t<E>(e);
}

}  // namespace fovea::FOVEA_SET
