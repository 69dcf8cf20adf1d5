// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/expr/trace.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// rescore: a new score, as an expression of the old score, indices and parameters.
///
///     s' = f(s, q_idx, kv_idx, head, batch)
///     rescore(50 * tanh(score / 50))    rescore(score + param(slopes)[head] * (kv_idx - q_idx))
///     rescore([](auto score, auto at) { return score + at.kv_idx; })
///     rescore([](auto score, auto b, auto h, auto q_idx, auto kv_idx) { return score + kv_idx; })
///
/// A function is called once, with placeholders; the last form is a score_mod of FlexAttention, unchanged.
/// Cost: factors that are the same for all keys are folded into the query; the rest runs on the tile, once for each
/// pair.
/// Edge cases: rescorings apply in the order in which they are piped. A score that becomes -inf excludes its pair.
/// Errors: shape_error where a table has fewer elements than the call reads. At compile time, without `score`.
template <class E>
struct rescore_t : stage<role::rescoring> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

    constexpr rescore_t() = default;
    constexpr explicit rescore_t(E const& e) : body(e) {}
    constexpr auto expression() const { return body; }
    std::string text() const { return "rescore(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto rescore(E const& e) {
    constexpr bool uses_later = uses<E, weight_t, out_t>;
    constexpr bool uses_score = uses_later || uses<E, score_t>;
    static_assert(uses_score, "fovea: rescore needs an expression of score; to make a score, use compare");
    static_assert(!uses_later,
                  "fovea: a score may not use weight or out: use reweight for weights, map for the result");
    if constexpr (uses_score && !uses_later) return rescore_t<E>(e);
    else return ill_formed{};
}

template <class F>
    requires(!fovea::expression<F>)
constexpr auto rescore(F const& f) {
    constexpr bool table = viewable<F const>;
    constexpr bool traceable = is_ill_formed<F> || table || traceable_score<F>;
    static_assert(!table, "fovea: a table that is added to the score is a rescoring by bias(table)");
    static_assert(traceable,
                  "fovea: rescore takes an expression of score, or a function that returns one, of (auto score, auto "
                  "at) or of (auto score, auto b, auto h, auto q_idx, auto kv_idx)");
    if constexpr (traceable_score<F>) return rescore(trace_score(f));
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed rescore(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
