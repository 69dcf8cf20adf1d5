// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/param.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/selection.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

namespace detail {
/// The threshold of one row.
template <class Number>
struct threshold_of_row : key_selection {
    Number number{};

    constexpr threshold_of_row() = default;
    constexpr explicit threshold_of_row(Number t) : number(t) {}
    static constexpr std::string_view name = "threshold";
    constexpr Number least() const { return number; }
};
}  // namespace detail

/// threshold: a selection: the keys whose score is not below a number.
///
///     j is kept where s_j >= t
///     keep(threshold(0.5)) | softmax    keep(threshold(param(t)[head])) | weigh(score)
///
/// Shapes: `t` is a number, a table (head), kept as a view, or an expression of head, batch, q_idx and the lengths.
/// Cost: one comparison for each pair; no row is kept for it.
/// Gradients: of the scores that stay, not of `t`.
/// Edge cases: a query may keep no key: it then has weights 0. A threshold that is NaN keeps all keys.
/// Errors: std::invalid_argument for the number NaN; shape_error where a table is too small for the call. At compile
/// time, where t depends on the key.
template <class E>
struct threshold_t : key_selection {
    static constexpr bool idempotent = true;
    FOVEA_NO_UNIQUE_ADDRESS E number{};

    constexpr threshold_t() = default;
    constexpr explicit threshold_t(E const& e) : number(e) {}

    constexpr double least() const
        requires is_literal<E>
    {
        return static_cast<double>(number.value);
    }
    template <class Facts>
        requires(!is_literal<E>)
    constexpr auto for_row(Facts const& at) const {
        return detail::threshold_of_row(at(number));
    }
    std::string text() const { return "threshold(" + print(number) + ")"; }
};

template <class Threshold>
constexpr auto threshold(Threshold&& t) {
    auto const e = detail::computed_or_table(std::forward<Threshold>(t), placeholders::head);
    using expression = std::remove_const_t<decltype(e)>;
    constexpr bool of_row = is_number_of_row<expression>;
    static_assert(of_row, "fovea: a threshold is one number for each row: it may use head, batch, q_idx and lengths");
    detail::require_number("threshold: t", e, "a number", [](double x) { return x == x; });
    if constexpr (of_row && detail::keeps_quotients_whole<expression, true>()) return threshold_t<expression>(e);
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed threshold(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
