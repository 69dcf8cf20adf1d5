// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// compare: a score function from any expression of query and key features.
///
///     compare(sum(q * k) / 8)    compare(sum(param(v) * tanh(q + k)))    compare(-sum(square(q - k)))
///
/// Shapes: what is inside sum() is added over the features; indices, parameters and other sums may be outside.
/// Cost: products of q and k run as a matrix product, terms of one side once for each row, sums that are no product
/// once for each feature and pair, the rest once for each pair; `explain` says which, and what is slow.
/// Edge cases: a sum of squared differences, times a factor or with something added, is decomposed into a product and a
/// number for each query and key; features far from 0 then lose precision. Inside another function they lose none, nor
/// written as sum((q - k) * (q - k)), which is added up for each pair.
/// Errors: shape_error where features do not fit. At compile time, for `score`, and for a feature outside sum().
template <class E>
struct compare_t : stage<role::score> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

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
                  "fovea: a score may not use weight or out: use reweight for weights, map for the result");
    if constexpr (uses_score || uses_later) return ill_formed{};
    else return compare_t<E>(e);
}

template <class Other>
    requires(!fovea::expression<Other>)
constexpr ill_formed compare(Other const&) {
    static_assert(is_ill_formed<Other>, "fovea: compare takes an expression of q and k, such as sum(q * k)");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed compare(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
