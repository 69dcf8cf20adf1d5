// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <type_traits>
#include <utility>

namespace fovea {

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
}  // namespace detail

/// What an argument of a call may be: a view, or an owner, an mdspan or a matrix that gives one.
template <class V>
concept viewable = is_view<std::remove_cvref_t<V>> || detail::has_view<std::remove_reference_t<V>>
                || detail::like_mdspan<std::remove_reference_t<V>> || detail::like_matrix<std::remove_reference_t<V>>;

/// True for an argument V&& that owns its elements and ends with the statement.
template <class V>
inline constexpr bool is_temporary_owner = !std::is_reference_v<V> && detail::has_view<V>;

/// as_view: the view of an argument; const owners give views of const elements.
template <viewable V>
constexpr auto as_view(V&& v) {
    using owner = std::remove_reference_t<V>;
    if constexpr (is_view<std::remove_cvref_t<V>>) return v;
    else if constexpr (detail::has_view<owner>) return v.view();
    else if constexpr (detail::like_mdspan<owner>)
        return view<std::remove_pointer_t<decltype(v.data_handle())>, static_cast<int>(owner::rank())>(v);
    else return view<std::remove_pointer_t<decltype(v.data())>, 2>(v);
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

}  // namespace fovea
