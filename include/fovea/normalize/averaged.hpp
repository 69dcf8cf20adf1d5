// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/normalize/weigh.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// averaged: an expression of each score, divided by the number of keys that the query sees.
///
///     w_j = f(s_j) / n
///     averaged(relu(score))
///
/// Cost: streaming: the number of visible keys, n, is carried from tile to tile.
/// Edge cases: a query that sees no key gets zeros; excluded keys are not counted.
/// Errors: at compile time, where f uses anything but `score`, and for `lse`.
/// Source: Wortsman et al. 2023, section 3, with n in place of the length.
template <class E>
struct averaged_t : stage<role::normalizer> {
    weigh_t<E> f{};

    constexpr averaged_t() = default;
    constexpr explicit averaged_t(E const& e) : f(e) {}

    template <class T>
    struct state {
        T keys = 0;
    };

    template <class T, class Row>
    constexpr T fold(state<T>& s, Row const& row) const {
        s.keys += row.sum([](auto const& s_j) FOVEA_LAMBDA { return std::remove_cvref_t<decltype(s_j)>(T(1)); });
        row.map([this](auto s_j) FOVEA_LAMBDA { return f.weight(s_j); });
        return T(1);
    }
    template <class T>
    constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) const {
        s.keys += other.keys;
        return {T(1), T(1)};
    }
    template <class T>
    constexpr T finish(state<T> const& s) const {
        return s.keys == 0 ? T(0) : T(1) / s.keys;
    }

    /// The gradients of a row: ds_j = f'(s_j) g_j / n.
    template <class Row>
    void gradient(Row&& row) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const keys = row.sum([](auto const&, auto const&, auto const&) { return T(1); });
        row.map([&](auto const& s, auto const&, auto const& g) { return row.slope(f, s) * g / keys; });
    }
    std::string text() const { return "averaged(" + print(f.body) + ")"; }
};

template <fovea::expression E>
constexpr auto averaged(E const& e) {
    return averaged_t<std::remove_cvref_t<decltype(weigh(e).body)>>(e);
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed averaged(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET
