// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/normalize/weigh.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// averaged: an expression of each score, divided by the number of keys that the query sees.
///
///     w_j = f(s_j) / n
///     averaged(relu(score))
///
/// Shapes: what `weigh` takes.
/// Cost: streaming: the number of visible keys, n, is carried from tile to tile.
/// Edge cases: a query that sees no key gets zeros; excluded keys are not counted.
/// Errors: those of `weigh`.
/// Source: Wortsman et al. 2023, section 3, with n in place of the length.
template <class E>
struct averaged_t : stage<role::normalizer> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

    constexpr averaged_t() = default;
    constexpr explicit averaged_t(E const& e) : body(e) {}
    template <class F>
    constexpr averaged_t<F> with(F const& function) const {
        return averaged_t<F>(function);
    }

    template <class T>
    struct state {
        T keys = 0;
    };

    template <class T, class Row>
    constexpr T fold(state<T>& s, Row const& row) const {
        s.keys += row.sum([](auto const& s_j) FOVEA_LAMBDA { return std::remove_cvref_t<decltype(s_j)>(T(1)); });
        row.map([f = weigh_t<E>(body)](auto s_j) FOVEA_LAMBDA { return f.weight(s_j); });
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

    /// The gradients of a row: ds_j = f'(s_j) g_j / n, where `back(s, x)` is f'(s) x.
    template <class Row, class Back>
    void gradient_by(Row&& row, Back const& back) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const keys = row.sum([](auto const&, auto const&, auto const&) { return T(1); });
        row.map([&]<class V>(V const& s, V const&, V const& g) { return back(s, g / V(keys)); });
    }
    std::string text() const { return "averaged(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto averaged(E const& e) {
    return detail::by_function_of_scores(averaged_t<E>(e));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed averaged(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
