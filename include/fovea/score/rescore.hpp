// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/expr/trace.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea {

/// rescore: a new score as an expression of the old one, of indices and of parameters.
///
///     rescore(50 * tanh(score / 50))
///     rescore(score + param(slopes)[head] * (kv_idx - q_idx))
///     rescore([](auto s, auto at) { return s + at.kv_idx; })      called once, with placeholders
///
/// Rescorings compose in the order in which they are piped.
/// Cost: factors that are the same for all keys are folded into the query; the rest runs on the tile.
template <class E>
struct rescore_t : stage<role::rescoring> {
    [[no_unique_address]] E body{};

    constexpr rescore_t() = default;
    constexpr explicit rescore_t(E const& e) : body(e) {}
    constexpr auto expression() const { return body; }
    std::string text() const { return "rescore(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto rescore(E const& e) {
    constexpr bool uses_score = uses<E, score_t>;
    static_assert(uses_score, "fovea: rescore needs an expression of score; to make a score, use compare");
    if constexpr (uses_score) return rescore_t<E>(e);
    else return ill_formed{};
}

template <class F>
    requires requires(F const& f) { trace_score(f); }
constexpr auto rescore(F const& f) {
    return rescore(trace_score(f));
}

}  // namespace fovea
