// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/evaluate.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// An expression of one score: what `score` stands for is handed in.
template <class V>
struct score_environment {
    V const& value;
    FOVEA_INLINE constexpr V const& operator()(score_t) const { return value; }
};

/// Whether an expression depends on the score and on nothing else that differs from pair to pair.
template <class E>
inline constexpr bool is_of_score =
    uses<E, score_t> && !reads_a_table<E>
    && !uses<E, q_idx_t, kv_idx_t, head_t, batch_t, edge_t, q_len_t, kv_len_t, dim_t, q_t, k_t, weight_t, out_t>;
}  // namespace detail

/// weigh: each weight is an expression of its score: sigmoid, relu, squared relu, gelu, silu, or any other function.
///
///     w_j = f(s_j)
///     weigh(sigmoid(score - 6))    weigh(square(relu(score)))    weigh(silu(score))
///
/// Cost: elementwise: nothing is carried from key to key.
/// Edge cases: an excluded pair has weight 0, whatever f is; weights need not sum to one.
/// Errors: at compile time, for `lse`, and where f uses anything but `score`: write what depends on indices before it,
/// as in rescore(score + param(bias)[head]).
/// Source: Ramapuram et al. 2024 (sigmoid); Wortsman et al. 2023 (relu); So et al. 2021 (squared relu).
template <class E>
struct weigh_t : stage<role::normalizer> {
    [[no_unique_address]] E body{};

    constexpr weigh_t() = default;
    constexpr explicit weigh_t(E const& e) : body(e) {}
    template <class V>
    FOVEA_INLINE constexpr V weight(V const& score) const {
        return V(evaluate(body, detail::score_environment<V>{score}));
    }
    constexpr E const& expression() const { return body; }
    std::string text() const { return "weigh(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto weigh(E const& e) {
    static_assert(detail::is_of_score<E>,
                  "fovea: weigh needs an expression of score and of nothing else: what depends on indices, put into a "
                  "rescore before it");
    if constexpr (detail::is_of_score<E>) return weigh_t<E>(e);
    else return ill_formed{};
}

/// What is no expression: a sentence.
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
