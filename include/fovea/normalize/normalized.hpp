// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/normalize/weigh.hpp>
#include <fovea/spec/quotient.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// normalized: an expression of each score, divided by the sum of these expressions.
///
///     w_j = f(s_j) / (sum_k f(s_k) + eps)
///     normalized(square(relu(score)), 1e-6)    normalized(exp(score))
///
/// Shapes: `eps` is a number, 0 unless given. The expression is one that `weigh` takes.
/// Cost: streaming: the sum is carried from tile to tile, and f(s) multiplies the values unchanged.
/// Edge cases: a row whose divisor is 0, or that sees no key, gets zeros. f should not be negative.
/// Errors: those of `weigh`.
template <class E>
struct normalized_t : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};
    double eps = 0;

    constexpr normalized_t() = default;
    constexpr normalized_t(E const& e, double added) : body(e), eps(added) {}
    template <class F>
    constexpr normalized_t<F> with(F const& function) const {
        return normalized_t<F>(function, eps);
    }

    template <class T>
    using state = quotient_state<T>;

    template <class T, class Row>
    constexpr T fold(state<T>& s, Row const& row) const {
        T const added = row.map_and_sum([f = weigh_t<E>(body)](auto s_j) FOVEA_LAMBDA { return f.weight(s_j); });
        return s.fold(row, added,
                      [](Row const& weights) { return weights.sum([](auto const& w) FOVEA_LAMBDA { return w; }); });
    }
    template <class T>
    constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) const {
        return s.merge(other);
    }
    template <class T>
    constexpr T finish(state<T> const& s) const {
        return s.finish(static_cast<T>(eps));
    }

    /// The gradients of a row: ds_j = f'(s_j) (g_j - sum_k w_k g_k) / (sum_k f(s_k) + eps), where `back(s, x)` is f'(s)
    /// x.
    template <class Row, class Back>
    void gradient_by(Row&& row, Back const& back) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        weigh_t<E> const f(body);
        T const divisor =
            row.sum([&](auto const& s, auto const&, auto const&) { return f.weight(s); }) + static_cast<T>(eps);
        T const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        T const share = divisor == 0 ? T(0) : T(1) / divisor;
        row.map([&]<class V>(V const& s, V const&, V const& g) { return back(s, (g - V(mean)) * V(share)); });
    }
    std::string text() const {
        auto const number = eps == 0 ? std::string() : ", " + print(literal<double>{eps});
        return "normalized(" + print(body) + number + ")";
    }
};

template <fovea::expression E>
constexpr auto normalized(E const& e, double eps = 0) {
    return detail::by_function_of_scores(normalized_t<E>(e, eps));
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed normalized(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
