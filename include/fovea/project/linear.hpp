// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <optional>
#include <string>

namespace fovea {

/// A matrix that is stored as (out, in), the way training frameworks keep it.
template <class T>
struct transposed_t {
    view<T const, 2> stored;
};

template <class T>
constexpr transposed_t<std::remove_const_t<T>> transposed(view<T, 2> stored) {
    return {stored};
}
template <class Owner>
    requires requires(Owner& o) { o.view(); }
constexpr auto transposed(Owner& owner) {
    return transposed(owner.view());
}

/// linear: a row times a matrix, plus a bias where one is given.
///
///     y_c = sum_i x_i W_ic + b_c
///
/// W is (in, out), or transposed(W) for a matrix stored as (out, in); b is (out).
/// Keeps views: the matrix must outlive the attention. Cost: one matrix product over all rows.
/// Errors: shape_error when x has another number of features than W has rows, or b than W has columns.
template <class T, bool Transposed = false>
struct linear_t {
    using row_map_tag = void;
    using value_type = T;
    static constexpr bool is_transposed = Transposed;
    view<T const, 2> matrix;
    std::optional<view<T const, 1>> bias{};

    constexpr index_t inputs() const { return matrix.extent(Transposed ? 1 : 0); }
    constexpr index_t outputs() const { return matrix.extent(Transposed ? 0 : 1); }
    constexpr bool has_bias() const { return bias.has_value(); }
    constexpr index_t features(index_t) const { return outputs(); }
    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        visit(matrix, "the matrix for ");
        if (bias) visit(*bias, "the bias added to ");
    }
    std::string text() const {
        return "linear(" + std::to_string(inputs()) + " -> " + std::to_string(outputs())
             + (has_bias() ? ", bias)" : ")");
    }
};

template <class T>
constexpr linear_t<std::remove_const_t<T>> linear(view<T, 2> matrix) {
    return {matrix};
}
template <class T>
constexpr linear_t<std::remove_const_t<T>> linear(view<T, 2> matrix, view<std::type_identity_t<T> const, 1> bias) {
    return {matrix, bias};
}
template <class T>
constexpr linear_t<T, true> linear(transposed_t<T> matrix) {
    return {matrix.stored};
}
template <class T>
constexpr linear_t<T, true> linear(transposed_t<T> matrix, view<std::type_identity_t<T> const, 1> bias) {
    return {matrix.stored, bias};
}
template <class Owner>
    requires requires(Owner& o) { o.view(); }
constexpr auto linear(Owner& matrix) {
    return linear(matrix.view());
}
template <class Owner, class Bias>
    requires requires(Owner& o, Bias& b) {
        o.view();
        b.view();
    }
constexpr auto linear(Owner& matrix, Bias& bias) {
    return linear(matrix.view(), bias.view());
}

}  // namespace fovea
