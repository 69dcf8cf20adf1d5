// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// compare: a score function from any expression of query and key features.
///
///     compare(sum(q * k) / 8)    compare(sum(param(v) * tanh(q + k)))
///
/// What stands inside sum() is added over the features; outside stand indices, parameters and other sums.
/// Cost: products of q and k run as a matrix product, and so do squared differences, weighted or not, that the score is
/// a multiple of (plan/squares.hpp); terms of one side once per row, the rest once per feature and pair; `explain`
/// says which.
template <class E>
struct compare_t : stage<role::score> {
    [[no_unique_address]] E body{};

    constexpr compare_t() = default;
    constexpr explicit compare_t(E const& e) : body(e) {}
    constexpr auto expression() const { return body; }
    std::string text() const { return "compare(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto compare(E const& e) {
    constexpr bool uses_score = uses<E, score_t>;
    constexpr bool uses_later = uses<E, weight_t, out_t>;
    static_assert(!uses_score, "fovea: compare makes the score and cannot use it: for a change of it, use rescore");
    static_assert(!uses_later,
                  "fovea: a score knows no weight and no out: use reweight for weights, map for the result");
    if constexpr (uses_score || uses_later) return ill_formed{};
    else return compare_t<E>(e);
}

}  // namespace fovea::FOVEA_SET
