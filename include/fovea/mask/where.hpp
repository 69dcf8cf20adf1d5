// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/expr/trace.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// where: a query sees the keys for which a condition over the indices holds.
///
///     where(q_idx - kv_idx < 4096)    where(param(document)[q_idx] == param(document)[kv_idx])
///     where([](auto at) { return at.kv_idx <= at.q_idx; })
///     where([](auto b, auto h, auto q_idx, auto kv_idx) { return q_idx >= kv_idx; })
///
/// A function is called once, with placeholders; the last form is a mask_mod of FlexAttention. Piped masks intersect.
/// Shapes: conditions use q_idx, kv_idx, head, batch, the lengths, numbers and tables.
/// Cost: interval arithmetic finds empty tiles, which are never visited, and full tiles, which are not masked.
/// In mixed tiles all pairs are computed: if few are visible, `neighbors` costs less, and `explain` says so.
/// Edge cases: a query that sees no key gets zeros.
/// Errors: at compile time, for scores, features, numbers, and functions with parameters that are not `auto`.
template <class E>
struct where_t : stage<role::mask> {
    FOVEA_NO_UNIQUE_ADDRESS E condition{};

    constexpr where_t() = default;
    constexpr explicit where_t(E const& e) : condition(e) {}
    constexpr auto predicate() const { return condition; }
    std::string text() const { return "where(" + print(condition) + ")"; }
};

template <fovea::expression E>
constexpr auto where(E const& e) {
    constexpr bool uses_score = uses<E, score_t, weight_t, out_t>;
    constexpr bool uses_features = uses<E, q_t, k_t> || has_sum<E>;
    constexpr bool is_number = !uses_score && !uses_features && !is_condition<E>;
    static_assert(
        !uses_score,
        "fovea: a mask may use indices and tables only; it uses score. For a threshold on scores, use rescore");
    static_assert(!uses_features, "fovea: a mask may use indices and tables only; it uses features of query or key");
    static_assert(!is_number, "fovea: where needs a condition, such as kv_idx <= q_idx; this is a number");
    if constexpr (uses_score || uses_features || is_number) return ill_formed{};
    else return where_t<E>(e);
}

template <class F>
    requires(!fovea::expression<F>)
constexpr auto where(F const& f) {
    constexpr bool table = viewable<F const>;
    constexpr bool traceable = mask<F> || is_ill_formed<F> || table || traceable_mask<F>;
    static_assert(!table, "fovea: a table of conditions is a mask by mask_tensor(table)");
    static_assert(traceable,
                  "fovea: where takes a condition over indices, or a function that returns one, of `auto at` or of "
                  "(auto b, auto h, auto q_idx, auto kv_idx)");
    if constexpr (mask<F>) return f;  // where(causal && kv_idx < 5)
    else if constexpr (traceable_mask<F>) return where(trace_mask(f));
    else return ill_formed{};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed where(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

namespace detail {
/// A condition of an element of a table: itself, or of a number that it is not 0.
template <fovea::expression E>
constexpr auto holds(E const& element) {
    if constexpr (is_condition<E>) return element;
    else return element != 0;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
