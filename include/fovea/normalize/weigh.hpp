// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/print.hpp>
#include <fovea/spec/score_function.hpp>

namespace fovea::FOVEA_SET {

/// weigh: each weight is an expression of its score: sigmoid, relu, squared relu, gelu, silu, or any other function.
///
///     w_j = f(s_j)
///     weigh(sigmoid(score - 6))    weigh(square(relu(score)))    weigh(sigmoid(score + param(b)[head]))
///
/// Shapes: beside `score`, head, batch, q_idx and the lengths may stand in f, and tables that are indexed by these. All
/// of that is read once for each row.
/// Cost: elementwise: nothing is carried from key to key.
/// Edge cases: an excluded pair has weight 0, whatever f is; weights need not sum to one.
/// Errors: at compile time, for `lse`, and where f depends on the key in another way than by its score: write that
/// before it, as in rescore(score + param(bias)[kv_idx]). shape_error where a table is too small for the call.
/// Source: Ramapuram et al. 2024 (sigmoid); Wortsman et al. 2023 (relu); So et al. 2021 (squared relu).
template <class E>
struct weigh_t : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

    constexpr weigh_t() = default;
    constexpr explicit weigh_t(E const& e) : body(e) {}
    template <class V>
    FOVEA_INLINE constexpr V weight(V const& score) const {
        return V(evaluate(body, detail::score_environment<V>{score}));
    }
    constexpr E const& expression() const { return body; }
    /// The gradients of a row: ds_j = f'(s_j) g_j, where `back(s, x)` is f'(s) x.
    template <class Row, class Back>
    void gradient_by(Row&& row, Back const& back) const {
        row.map([&](auto const& s, auto const&, auto const& g) { return back(s, g); });
    }
    template <class F>
    constexpr weigh_t<F> with(F const& function) const {
        return weigh_t<F>(function);
    }
    std::string text() const { return "weigh(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto weigh(E const& e) {
    return detail::by_function_of_scores(weigh_t<E>(e));
}

/// A sentence for an argument that is no expression.
template <class Other>
    requires(!fovea::expression<Other>)
constexpr ill_formed weigh(Other const&) {
    static_assert(is_ill_formed<Other>, "fovea: weigh takes an expression of score, such as sigmoid(score)");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed weigh(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
