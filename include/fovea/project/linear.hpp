// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// A matrix that is stored as (out, in), the way training frameworks keep it.
template <class T>
struct transposed_t {
    view<T const, 2> stored;
};

template <class M>
inline constexpr bool is_transposed = false;
template <class T>
inline constexpr bool is_transposed<transposed_t<T>> = true;

namespace detail {
/// The view of a matrix or a bias of a projection, with its sentences; `Rank` is what it must have.
template <int Rank, class V>
FOVEA_INLINE constexpr auto projecting(V&& v) {
    static_assert(
        !is_temporary_owner<V>,
        "fovea: project keeps views, and one of these matrices is a temporary, destroyed at the end of the statement");
    auto const all = view_of(v);
    using element = typename std::remove_const_t<decltype(all)>::value_type;
    constexpr bool fits = decltype(all)::rank == Rank;
    static_assert(fits || !viewable<V>, "fovea: the matrix of a projection is (in, out) and its bias (out)");
    if constexpr (!fits) return view<float const, Rank>();
    else if constexpr (!has_features_of_numbers<element>()) return view<float const, Rank>();
    else return view<element const, Rank>(all);
}
}  // namespace detail

template <class Matrix>
constexpr auto transposed(Matrix&& stored) {
    auto const v = detail::projecting<2>(std::forward<Matrix>(stored));
    return transposed_t<typename std::remove_const_t<decltype(v)>::value_type>{v};
}

/// linear: a row times a matrix, plus an optional bias.
///
///     y_c = sum_i x_i W_ic + b_c
///
/// Shapes: W is (in, out), or transposed(W) for a matrix stored as (out, in); b is (out), and a default-constructed
/// view stands for none. The matrix and the bias are kept as views.
/// Cost: one matrix product over all rows.
/// Gradients: of the row, W and b.
/// Edge cases: for a fused matrix of queries, keys and values, pass three views of its columns.
/// Errors: shape_error where the features of x do not match the rows of W, or the elements of b the columns of W. At
/// compile time, for a temporary, and for elements of different types.
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

template <class Matrix>
constexpr auto linear(Matrix&& matrix) {
    if constexpr (is_transposed<std::remove_cvref_t<Matrix>>) {
        return linear_t<typename decltype(matrix.stored)::value_type, true>{matrix.stored};
    } else {
        auto const v = detail::projecting<2>(std::forward<Matrix>(matrix));
        return linear_t<typename std::remove_const_t<decltype(v)>::value_type>{v};
    }
}
template <class Matrix, class Bias>
constexpr auto linear(Matrix&& matrix, Bias&& bias) {
    auto map = linear(std::forward<Matrix>(matrix));
    auto const added = detail::projecting<1>(std::forward<Bias>(bias));
    constexpr bool alike =
        std::is_same_v<view<typename decltype(map)::value_type const, 1>, std::remove_const_t<decltype(added)>>;
    static_assert(alike, "fovea: the matrix of a projection and its bias have elements of one type");
    constexpr bool may_be_absent = is_view<std::remove_cvref_t<Bias>>;
    if constexpr (alike)
        if (!may_be_absent || added.data != nullptr || added.extent(0) != 0) map.bias = added;
    return map;
}
template <class... Others>
    requires(sizeof...(Others) != 1 && sizeof...(Others) != 2)
constexpr ill_formed linear(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
