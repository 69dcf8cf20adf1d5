// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/project/linear.hpp>
#include <fovea/spec/pipe.hpp>

namespace fovea::FOVEA_SET {

/// output: the heads side by side, times a matrix, plus an optional bias.
///
///     y_c = sum_i out_i W_ic + b_c,   out = [out^1 ... out^H]
///     output(W)    output(transposed(W), b)
///
/// Shapes: W is (heads * d_v, out) or transposed(W); b is (out); the result is (batch, position, out).
/// Cost: one matrix product.
/// Gradients: of the heads, W and b.
/// Edge cases: several apply in the order in which they are piped.
/// Errors: shape_error where W does not fit the result, or b does not fit W. At compile time, for a temporary, since
/// views are kept.
/// Source: Vaswani et al. 2017, section 3.2.2.
template <class Linear>
struct output_t : stage<role::finish> {
    Linear linear_map{};

    constexpr output_t() = default;
    constexpr explicit output_t(Linear const& map) : linear_map(map) {}
    constexpr auto const& linear() const { return linear_map; }
    std::string text() const { return "output(" + linear_map.text() + ")"; }
};

template <class Matrix>
constexpr auto output(Matrix&& matrix) {
    static_assert(
        !is_temporary_owner<Matrix>,
        "fovea: output keeps a view, and this matrix or bias is a temporary, destroyed at the end of the statement");
    if constexpr (requires { typename std::remove_cvref_t<Matrix>::row_map_tag; }) {
        return output_t<std::remove_cvref_t<Matrix>>(matrix);
    } else {
        auto const map = linear(matrix);
        return output_t<std::remove_const_t<decltype(map)>>(map);
    }
}
template <class Matrix, class Bias>
constexpr auto output(Matrix&& matrix, Bias&& bias) {
    static_assert(
        !is_temporary_owner<Matrix> && !is_temporary_owner<Bias>,
        "fovea: output keeps a view, and this matrix or bias is a temporary, destroyed at the end of the statement");
    auto const map = linear(matrix, bias);
    return output_t<std::remove_const_t<decltype(map)>>(map);
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed output(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
