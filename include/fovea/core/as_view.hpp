// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one conversion by which arguments become views, of calls, words and projections alike.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/containers.hpp>
#include <fovea/core/diagnose.hpp>
#include <fovea/core/view.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET {

/// Arguments that become views: a view, or what gives one: tensor and other owners, an mdspan, a matrix or tensor of
/// Eigen with elements in memory, an array of xtensor, numbers one after another, such as std::vector, std::span and
/// std::array, or what container_traits knows.
template <class V>
concept viewable = detail::kind_of<std::remove_reference_t<V>> != detail::container::none;

/// True for an argument V&& that owns its elements and ends with the statement.
template <class V>
inline constexpr bool is_temporary_owner = detail::owns_elements<std::remove_cv_t<V>>;
template <class V>
inline constexpr bool is_temporary_owner<V&> = false;

namespace detail {
/// The number of axes that the type of an array of xtensor says.
template <class V>
inline constexpr int rank_of_shape = -1;
template <like_xtensor V>
    requires has_rank<V>
inline constexpr int rank_of_shape<V> = static_cast<int>(std::tuple_size<shape_of<V>>::value);

template <int Rank, class V>
constexpr auto view_of_xtensor(V& v) {
    extents_t<Rank> extents{}, strides{};
    for (std::size_t i = 0; i < std::size_t{Rank}; ++i) {
        extents[i] = static_cast<index_t>(v.shape()[i]);
        strides[i] = static_cast<index_t>(v.strides()[i]);
    }
    using element = std::remove_reference_t<decltype(*v.data())>;
    return view<element, Rank>(v.data() + static_cast<index_t>(v.data_offset()), extents, strides);
}

template <class V>
constexpr auto view_of_tensor(V& v) {
    constexpr int rank = static_cast<int>(V::NumIndices);
    extents_t<rank> extents{};
    for (std::size_t i = 0; i < std::size_t{rank}; ++i) extents[i] = static_cast<index_t>(v.dimension(i));
    return view<std::remove_reference_t<decltype(*v.data())>, rank>(v.data(), extents);
}

/// Numbers, or arrays of fixed sizes of them, each an axis more.
template <class V>
constexpr auto view_of_array(V& v) {
    using row = fixed_array<std::remove_reference_t<std::ranges::range_reference_t<V&>>>;
    constexpr auto inner = row::extents;
    extents_t<static_cast<int>(inner.size()) + 1> extents{static_cast<index_t>(std::ranges::size(v))};
    for (std::size_t i = 0; i < inner.size(); ++i) extents[i + 1] = inner[i];
    using result = view<typename row::element, static_cast<int>(inner.size()) + 1>;
    if constexpr (inner.size() == 0) return result(std::ranges::data(v), extents);
    else return result(reinterpret_cast<typename row::element*>(std::ranges::data(v)), extents);
}
}  // namespace detail

/// as_view: the view of an argument; const owners give views of const elements.
template <viewable V>
FOVEA_INLINE constexpr auto as_view(V&& v) {
    using owner = std::remove_reference_t<V>;
    using detail::container;
    constexpr auto kind = detail::kind_of<owner>;
    if constexpr (kind == container::view) return v;
    else if constexpr (kind == container::own) return container_traits<std::remove_cv_t<owner>>::view_of(v);
    else if constexpr (kind == container::with_view) return v.view();
    else if constexpr (kind == container::mdspan)
        return view<std::remove_pointer_t<std::remove_cvref_t<decltype(v.data_handle())>>,
                    static_cast<int>(owner::rank())>(v);
    else if constexpr (kind == container::matrix && detail::like_vector<owner>)
        return view<std::remove_pointer_t<decltype(v.data())>, 1>(v.data(), {index_t{v.rows()} * index_t{v.cols()}},
                                                                  {index_t{v.innerStride()}});
    else if constexpr (kind == container::matrix) return view<std::remove_pointer_t<decltype(v.data())>, 2>(v);
    else if constexpr (kind == container::tensor) return detail::view_of_tensor(v);
    else if constexpr (kind == container::xtensor) return detail::view_of_xtensor<detail::rank_of_shape<owner>>(v);
    else return detail::view_of_array(v);
}

/// as_view<Rank>: the same where only the array itself knows how many axes it has, as xt::xarray does.
///
/// Errors: shape_error where it has others.
template <int Rank, class V>
    requires(detail::kind_of<std::remove_reference_t<V>> == detail::container::xtensor)
constexpr auto as_view(V&& v) {
    static_assert(
        !is_temporary_owner<V>,
        "fovea: this word keeps a view, and this container is a temporary, destroyed at the end of the statement");
    if (auto const axes = v.shape().size(); axes != std::size_t{Rank})
        raise_error(shape_error("view: the array has ", detail::counted(axes, "axis"), ", the view has ", Rank));
    return detail::view_of_xtensor<Rank>(v);
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
template <class V>
    requires(kind_of<V> == container::array)
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
/// Of tensors of Eigen, or of arrays of xtensor.
template <class V>
concept like_expression_of_arrays = !viewable<V> && (requires(V& v) { V::NumDimensions; } || requires(V& v) {
    v.shape();
    v.dimension();
});
template <class V>
concept like_expression = like_expression_of_matrices<V> || like_expression_of_arrays<V>;

/// Whether what gives a view is stored by columns.
template <class V>
constexpr bool stored_by_columns() {
    if constexpr (kind_of<V> == container::matrix && !like_vector<V>) return !V::IsRowMajor;
    else if constexpr (kind_of<V> == container::tensor) return V::NumIndices > 1 && int(V::Layout) != 1;
    else return false;
}

/// The sentences for an argument V&& that gives no view; true where it gives one.
template <class V>
constexpr bool gives_view() {
    using owner = std::remove_cvref_t<V>;
    constexpr bool bits = std::is_same_v<owner, std::vector<bool>>;
    constexpr bool pointer = std::is_pointer_v<owner>;
    constexpr bool containers = holds_containers<owner>;
    constexpr bool expression = like_expression<owner>;
    constexpr bool rows = is_row_major<!stored_by_columns<owner>()>();
    constexpr bool unknown_axes = kind_of<owner> == container::xtensor && rank_of_shape<owner> < 0;
    constexpr bool computed = kind_of<owner> == container::mdspan && computes_elements<owner>;
    constexpr bool none = !viewable<V> && !bits && !pointer && !containers && !expression;
    static_assert(!bits,
                  "fovea: std::vector<bool> has bits and no elements that a view could show: use "
                  "std::vector<std::uint8_t> or tensor<bool, 1>");
    static_assert(!pointer, "fovea: a pointer does not say how many elements there are: write view(pointer, extents)");
    static_assert(!containers,
                  "fovea: a container of containers is not contiguous: copy it into one container and write "
                  "view(elements, {rows, columns})");
    static_assert(!expression,
                  "fovea: this expression of matrices or arrays is not computed yet, so there are no elements to view: "
                  "store its value by rows first");
    static_assert(!unknown_axes,
                  "fovea: the type of this array does not say how many axes it has: write as_view<Rank>(array)");
    static_assert(!computed,
                  "fovea: the accessor of this mdspan computes its elements, so there are none to view: copy them");
    static_assert(!none,
                  "fovea: this does not convert to a view: pass a view, a tensor, a container of numbers, an mdspan, a "
                  "row-major matrix or what container_traits knows");
    return viewable<V> && rows && !unknown_axes && !computed;
}

/// The view of an argument, or one of no elements where it gives none: the sentence about it is then the only one.
template <class V>
FOVEA_INLINE constexpr auto view_of(V&& v) {
    using owner = std::remove_cvref_t<V>;
    if constexpr (gives_view<V>()) return as_view(v);
    else if constexpr (std::is_same_v<owner, std::vector<bool>>) return view<std::uint8_t const, 1>();
    else if constexpr (kind_of<owner> == container::matrix)
        return view<std::remove_reference_t<decltype(*v.data())>, 2>();
    else if constexpr (kind_of<owner> == container::tensor)
        return view<std::remove_reference_t<decltype(*v.data())>, static_cast<int>(owner::NumIndices)>();
    else if constexpr (kind_of<owner> == container::mdspan)
        return view<typename owner::element_type, static_cast<int>(owner::rank())>();
    else if constexpr (like_expression_of_matrices<owner>) return view<typename owner::Scalar const, 2>();
    else if constexpr (holds_containers<owner> && number<typename nested<owner>::element>)
        return view<typename nested<owner>::element, nested<owner>::depth>();
    else return view<float, 1>();
}

/// The view that a word keeps of a container, with `Rank` axes; those that are missing stand in front.
template <int Rank, class V>
FOVEA_INLINE constexpr auto kept_table_of(V&& v) {
    static_assert(
        !is_temporary_owner<V>,
        "fovea: this word keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const kept = view_of(std::forward<V>(v));
    constexpr bool fits = decltype(kept)::rank <= Rank;
    static_assert(fits, "fovea: this table has more axes than the word reads");
    return with_leading_axes<Rank>(kept);
}

/// 16 bits that may hold a float in a type that says integer.
template <class T>
inline constexpr bool is_raw_half = std::is_same_v<std::remove_cv_t<T>, std::uint16_t>;

/// The sentence for features in such a type; true where there are none.
template <class... T>
constexpr bool has_features_of_numbers() {
    constexpr bool raw = (is_raw_half<T> || ...), bits = (is_bit<T> || ...);
    static_assert(!raw,
                  "fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer: "
                  "reinterpret_cast<bfloat16 const*>(data), or float16");
    static_assert(!bits, "fovea: bits are conditions: give features and biases as numbers");
    return !raw && !bits;
}

/// The table of numbers that are features, for a word that keeps it.
template <int Rank, class V>
FOVEA_INLINE constexpr auto kept_features_of(V&& v) {
    auto const kept = kept_table_of<Rank>(std::forward<V>(v));
    static_cast<void>(has_features_of_numbers<typename std::remove_const_t<decltype(kept)>::value_type>());
    return kept;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
