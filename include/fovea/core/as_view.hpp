// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one conversion by which arguments become views, of calls, words and projections alike.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/core/view.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

template <class V>
inline constexpr bool is_view = false;
template <class T, int Rank>
inline constexpr bool is_view<view<T, Rank>> = true;

namespace detail {
template <class V>
concept has_view = requires(V& v) { requires is_view<std::remove_cvref_t<decltype(v.view())>>; };
template <class V>
concept like_mdspan = requires(V& v) {
    v.data_handle();
    v.stride(0);
    V::rank();
};
template <class V>
concept like_matrix = requires(V& v) {
    v.data();
    v.rows();
    v.cols();
    v.outerStride();
    v.IsRowMajor;
};
/// A matrix whose type says that it has one row, or one column.
template <class V>
concept like_vector = like_matrix<V> && requires { requires bool(V::IsVectorAtCompileTime); };
template <class T>
concept number = std::is_arithmetic_v<T> || (std::is_class_v<T> && std::convertible_to<T, float>);
/// Numbers one behind the other: std::vector, std::span, std::array, an array of the language.
template <class V>
concept like_array =
    std::ranges::contiguous_range<V&> && std::ranges::sized_range<V&> && number<std::ranges::range_value_t<V&>>;
}  // namespace detail

/// What an argument may be: a view, or what gives one: tensor and other owners, an mdspan, a matrix or vector of Eigen
/// with elements in memory, or numbers one behind the other, such as std::vector, std::span and std::array.
template <class V>
concept viewable = is_view<std::remove_cvref_t<V>> || detail::has_view<std::remove_reference_t<V>>
                || detail::like_mdspan<std::remove_reference_t<V>> || detail::like_matrix<std::remove_reference_t<V>>
                || detail::like_array<std::remove_reference_t<V>>;

namespace detail {
template <class V>
inline constexpr bool owns_elements = false;
template <class V>
    requires(!is_view<V> && has_view<V>)
inline constexpr bool owns_elements<V> = true;
template <class V>
    requires(!has_view<V> && like_matrix<V>)
inline constexpr bool owns_elements<V> = requires { requires std::is_same_v<typename V::PlainObject, V>; };
template <class V>
    requires(!has_view<V> && !like_matrix<V> && !like_mdspan<V> && like_array<V>)
inline constexpr bool owns_elements<V> = !std::ranges::borrowed_range<V>;
}  // namespace detail

/// True for an argument V&& that owns its elements and ends with the statement.
template <class V>
inline constexpr bool is_temporary_owner = !std::is_reference_v<V> && detail::owns_elements<std::remove_cv_t<V>>;

/// as_view: the view of an argument; const owners give views of const elements.
template <viewable V>
FOVEA_INLINE constexpr auto as_view(V&& v) {
    using owner = std::remove_reference_t<V>;
    if constexpr (is_view<std::remove_cvref_t<V>>) return v;
    else if constexpr (detail::has_view<owner>) return v.view();
    else if constexpr (detail::like_mdspan<owner>)
        return view<std::remove_pointer_t<decltype(v.data_handle())>, static_cast<int>(owner::rank())>(v);
    else if constexpr (detail::like_vector<owner>)
        return view<std::remove_pointer_t<decltype(v.data())>, 1>(v.data(), {index_t{v.rows()} * index_t{v.cols()}},
                                                                  {index_t{v.innerStride()}});
    else if constexpr (detail::like_matrix<owner>) return view<std::remove_pointer_t<decltype(v.data())>, 2>(v);
    else
        return view<std::remove_reference_t<std::ranges::range_reference_t<owner&>>, 1>(
            std::ranges::data(v), {static_cast<index_t>(std::ranges::size(v))});
}

/// The number of features of an argument where its type says it, as mdspan and matrices may; -1 otherwise.
template <class V>
inline constexpr index_t static_features = -1;
template <class V>
    requires requires { V::static_extent(V::rank() - 1); }
inline constexpr index_t static_features<V> = static_cast<index_t>(V::static_extent(V::rank() - 1));
template <class V>
    requires requires { V::ColsAtCompileTime; }
inline constexpr index_t static_features<V> = static_cast<index_t>(V::ColsAtCompileTime);

namespace detail {
/// How deep containers lie in one another, and what the innermost holds.
template <class V>
struct nested {
    static constexpr int depth = 0;
    using element = V;
};
template <std::ranges::range V>
    requires(!viewable<V>)
struct nested<V> : nested<std::remove_cvref_t<std::ranges::range_value_t<V>>> {
    using inner = nested<std::remove_cvref_t<std::ranges::range_value_t<V>>>;
    static constexpr int depth = inner::depth + 1;
};
template <viewable V>
    requires(like_array<V> && !has_view<V>)
struct nested<V> {
    static constexpr int depth = 1;
    using element = std::ranges::range_value_t<V&>;
};
template <class V>
concept holds_containers = !viewable<V> && std::ranges::range<V> && (nested<V>::depth > 1);
template <class V>
concept like_expression_of_matrices = !viewable<V> && requires(V& v) {
    v.rows();
    v.cols();
    v.eval();
};

/// The sentences for an argument V&& that gives no view; true where it gives one.
template <class V>
constexpr bool gives_view() {
    using owner = std::remove_cvref_t<V>;
    constexpr bool bits = std::is_same_v<owner, std::vector<bool>>;
    constexpr bool pointer = std::is_pointer_v<owner>;
    constexpr bool containers = holds_containers<owner>;
    constexpr bool expression = like_expression_of_matrices<owner>;
    constexpr bool columns = [] {
        if constexpr (like_matrix<owner> && !like_vector<owner>) return !owner::IsRowMajor;
        else return false;
    }();
    constexpr bool none = !viewable<V> && !bits && !pointer && !containers && !expression;
    static_assert(!bits,
                  "fovea: std::vector<bool> has bits and no elements that a view could show: use "
                  "std::vector<std::uint8_t> or tensor<bool, 1>");
    static_assert(!pointer, "fovea: a pointer does not say how many elements there are: write view(pointer, extents)");
    static_assert(!containers,
                  "fovea: containers in a container do not lie one behind the other: copy them into one and write "
                  "view(elements, {rows, columns})");
    static_assert(!expression,
                  "fovea: this expression of matrices is not computed yet, so there are no elements to view: store its "
                  "value in a row-major matrix first");
    static_assert(!columns, "fovea: a view of a matrix needs row-major storage");
    static_assert(!none,
                  "fovea: this gives no view: pass a view, a tensor, a container of numbers, an mdspan or a row-major "
                  "matrix");
    return viewable<V> && !columns;
}

/// The view of an argument, or one of no elements where it gives none: the sentence about it is then the only one.
template <class V>
FOVEA_INLINE constexpr auto view_of(V&& v) {
    using owner = std::remove_cvref_t<V>;
    if constexpr (gives_view<V>()) return as_view(v);
    else if constexpr (std::is_same_v<owner, std::vector<bool>>) return view<std::uint8_t const, 1>();
    else if constexpr (like_matrix<owner>) return view<std::remove_reference_t<decltype(*v.data())>, 2>();
    else if constexpr (like_expression_of_matrices<owner>) return view<typename owner::Scalar const, 2>();
    else if constexpr (holds_containers<owner> && number<typename nested<owner>::element>)
        return view<typename nested<owner>::element, nested<owner>::depth>();
    else return view<float, 1>();
}

/// The same for a word that keeps the view.
template <class V>
FOVEA_INLINE constexpr auto kept_view_of(V&& v) {
    static_assert(!is_temporary_owner<V>,
                  "fovea: this word keeps a view, and this container is a temporary that ends with the statement");
    return view_of(std::forward<V>(v));
}

/// 16 bits that may hold a float in a type that says integer.
template <class T>
inline constexpr bool is_raw_half = std::is_same_v<std::remove_cv_t<T>, std::uint16_t>;

/// The sentence for features in such a type; true where there are none.
template <class... T>
constexpr bool has_features_of_numbers() {
    constexpr bool raw = (is_raw_half<T> || ...);
    static_assert(!raw,
                  "fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer: "
                  "reinterpret_cast<bfloat16 const*>(data), or float16");
    return !raw;
}

/// The view of numbers that are features, for a word that keeps it.
template <class V>
FOVEA_INLINE constexpr auto kept_features_of(V&& v) {
    auto const kept = kept_view_of(std::forward<V>(v));
    static_cast<void>(has_features_of_numbers<typename std::remove_const_t<decltype(kept)>::value_type>());
    return kept;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
