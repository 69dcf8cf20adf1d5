// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/functions.hpp>
#include <fovea/expr/print.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// map: applies an expression of `out` to each feature of the result.
///
///     out'_c = f(out_c)
///     map(elu(out))    map(elu(out + param(bias)))
///
/// Shapes: the extents do not change; a parameter with one axis is a vector over the features of the result, heads side
/// by side.
/// Cost: one evaluation for each feature of the result.
/// Gradients: of the result and the tables of the expression.
/// Edge cases: several maps apply in the order in which they are piped.
/// Errors: shape_error where a vector has another number of features. At compile time, where the expression does not
/// use `out`, or uses scores, features or the key.
template <class E>
struct map_t : stage<role::finish> {
    FOVEA_NO_UNIQUE_ADDRESS E body{};

    constexpr map_t() = default;
    constexpr explicit map_t(E const& e) : body(e) {}
    constexpr auto expression() const { return body; }
    std::string text() const { return "map(" + print(body) + ")"; }
};

template <fovea::expression E>
constexpr auto map(E const& e) {
    constexpr bool uses_out = uses<E, out_t>;
    constexpr bool uses_more =
        uses<E, q_t, k_t, score_t, weight_t, kv_idx_t, edge_t, head_t, dim_t, kv_len_t> || has_sum<E>;
    static_assert(uses_out, "fovea: map needs an expression of out, such as map(elu(out))");
    static_assert(!uses_out || !uses_more, "fovea: map may use out, batch, q_idx, q_len and tables only");
    if constexpr (!uses_out || uses_more) return ill_formed{};
    else return map_t<E>(e);
}

template <class Other>
    requires(!fovea::expression<Other>)
constexpr ill_formed map(Other const&) {
    static_assert(is_ill_formed<Other>, "fovea: map takes an expression of out, such as elu(out)");
    return {};
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed map(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
