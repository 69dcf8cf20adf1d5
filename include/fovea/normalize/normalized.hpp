// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/normalize/weigh.hpp>
#include <fovea/spec/quotient.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// normalized: an expression of each score, divided by the sum of these expressions.
///
///     w_j = f(s_j) / (sum_k f(s_k) + eps)
///     normalized(square(relu(score)), 1e-6)    normalized(exp(score))
///
/// Shapes: `eps` is a number, 0 unless given.
/// Cost: streaming: the sum is carried from tile to tile, and f(s) multiplies the values unchanged.
/// Edge cases: a row whose divisor is 0, or that sees no key, gets zeros. f should not be negative.
/// Errors: at compile time, where f uses anything but `score`, and for `lse`.
template <class E>
struct normalized_t : stage<role::normalizer> {
    weigh_t<E> f{};
    double eps = 0;

    constexpr normalized_t() = default;
    constexpr normalized_t(E const& e, double added) : f(e), eps(added) {}

    template <class T>
    using state = quotient_state<T>;

    template <class T, class Row>
    constexpr T fold(state<T>& s, Row const& row) const {
        T const added = row.map_and_sum([this](auto s_j) FOVEA_LAMBDA { return f.weight(s_j); });
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

    /// The gradients of a row: ds_j = f'(s_j) (g_j - sum_k w_k g_k) / (sum_k f(s_k) + eps).
    template <class Row>
    void gradient(Row&& row) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const divisor =
            row.sum([this](auto const& s, auto const&, auto const&) { return f.weight(s); }) + static_cast<T>(eps);
        T const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        row.map([&](auto const& s, auto const&, auto const& g) {
            return divisor == 0 ? T(0) : row.slope(f, s) * (g - mean) / divisor;
        });
    }
    std::string text() const {
        auto const number = eps == 0 ? std::string() : ", " + print(literal<double>{eps});
        return "normalized(" + print(f.body) + number + ")";
    }
};

template <fovea::expression E>
constexpr auto normalized(E const& e, double eps = 0) {
    return normalized_t<std::remove_cvref_t<decltype(weigh(e).body)>>(e, eps);
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed normalized(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET
