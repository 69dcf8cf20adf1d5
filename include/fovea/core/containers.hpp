// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How containers of other libraries are recognised: by their members, without a header of theirs.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/view.hpp>

#include <array>
#include <concepts>
#include <span>  // and the concepts of ranges
#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET {

template <class V>
inline constexpr bool is_view = false;
template <class T, int Rank>
inline constexpr bool is_view<view<T, Rank>> = true;

/// container_traits: how a container of one's own becomes a view; comes before all that the library recognises.
///
///     template <>
///     struct fovea::container_traits<grid> {
///         static auto view_of(auto& g) { return view(g.cells(), {g.rows(), g.columns()}); }  // grid, grid const
///         static constexpr bool owns_elements = true;  // they end with the grid; true where it is left out
///     };
template <class Container>
struct container_traits {};

namespace detail {
template <class V>
concept has_traits = requires(V& v) {
    requires is_view<std::remove_cvref_t<decltype(container_traits<std::remove_cv_t<V>>::view_of(v))>>;
};

template <class V>
concept has_view = requires(V& v) { requires is_view<std::remove_cvref_t<decltype(v.view())>>; };

/// std::mdspan, and the reference implementation of it.
template <class V>
concept like_mdspan = requires(V& v) {
    v.data_handle();
    v.stride(0);
    V::rank();
};
/// Whose elements are not in memory as they are read: its accessor computes them.
template <class V>
concept computes_elements = requires { typename V::accessor_type; }
                         && !std::is_same_v<typename V::accessor_type::reference, typename V::element_type&>;

/// Matrices, arrays, maps and blocks of Eigen.
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

/// Tensors of Eigen and maps of them.
template <class V>
concept like_tensor = requires(V& v) {
    v.data();
    v.dimension(0);
    V::NumIndices;
    V::Layout;
};

/// Arrays of xtensor, adaptors, and views of them that have strides.
template <class V>
concept like_xtensor = requires(V& v) {
    v.data();
    v.data_offset();
    v.shape();
    v.strides();
};
template <like_xtensor V>
using shape_of = std::remove_cvref_t<decltype(std::declval<V&>().shape())>;
/// Whose type says how many axes there are.
template <class V>
concept has_rank = !like_xtensor<V> || requires { std::tuple_size<shape_of<V>>::value; };

template <class T>
concept number = std::is_arithmetic_v<T> || (std::is_class_v<T> && std::convertible_to<T, float>);

/// Numbers in arrays of fixed sizes: float[8], std::array<float, 8>, or deeper.
template <class T>
struct fixed_array {
    static constexpr extents_t<0> extents{};
    using element = T;
};
template <class T, std::size_t N>
struct fixed_array<T[N]> {
    static constexpr auto extents = [] {
        constexpr auto inner = fixed_array<T>::extents;
        std::array<index_t, inner.size() + 1> all{index_t{N}};
        for (std::size_t i = 0; i < inner.size(); ++i) all[i + 1] = inner[i];
        return all;
    }();
    using element = typename fixed_array<T>::element;
};
template <class T, std::size_t N>
struct fixed_array<std::array<T, N>> : fixed_array<T[N]> {};
template <class T, std::size_t N>
struct fixed_array<std::array<T, N> const> : fixed_array<T const[N]> {};

/// Numbers one after another: std::vector, std::span, std::array, an array of the language; or fixed arrays of them.
template <class V>
concept like_array = std::ranges::contiguous_range<V&> && std::ranges::sized_range<V&>
                  && number<std::remove_cv_t<typename fixed_array<std::ranges::range_value_t<V&>>::element>>;

/// The container that an argument is taken for: the first that fits.
enum class container { none, view, own, with_view, mdspan, matrix, tensor, xtensor, array };
template <class V>
inline constexpr container kind_of = [] {
    if constexpr (is_view<std::remove_cv_t<V>>) return container::view;
    else if constexpr (has_traits<V>) return container::own;
    else if constexpr (has_view<V>) return container::with_view;
    else if constexpr (like_mdspan<V>) return container::mdspan;
    else if constexpr (like_matrix<V>) return container::matrix;
    else if constexpr (like_tensor<V>) return container::tensor;
    else if constexpr (like_xtensor<V>) return container::xtensor;
    else if constexpr (like_array<V>) return container::array;
    else return container::none;
}();

/// Whether the elements end with the container. What is a piece of another, such as a block, is not asked about it.
template <class V>
inline constexpr bool owns_elements = [] {
    constexpr auto kind = kind_of<V>;
    if constexpr (kind == container::own && requires { container_traits<V>::owns_elements; })
        return bool(container_traits<V>::owns_elements);
    else if constexpr (kind == container::matrix)
        return requires { requires std::is_same_v<typename V::PlainObject, V>; };
    else if constexpr (kind == container::tensor) return !requires { typename V::StoragePointerType; };
    else if constexpr (kind == container::xtensor) return std::is_same_v<typename V::temporary_type, V>;
    else if constexpr (kind == container::array) return !std::ranges::borrowed_range<V>;
    else return kind == container::own || kind == container::with_view;
}();
}  // namespace detail

}  // namespace fovea::FOVEA_SET
