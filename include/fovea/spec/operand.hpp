// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What queries, keys, values and results of a call may be: rows of features.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/paged.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::detail {

/// Numbers one after another that do not say how long a row is.
template <class V>
concept without_rows = kind_of<V> == container::array && decltype(as_view(std::declval<V&>()))::rank == 1;

/// The sentences for an argument that cannot be an operand; true where it can.
template <class V>
constexpr bool is_operand() {
    using owner = std::remove_cvref_t<V>;
    if constexpr (loaded_rows<owner>) {
        return true;
    } else if constexpr (is_paged<owner>) {
        return has_features_of_numbers<std::remove_pointer_t<decltype(std::declval<owner>().place(0, 0, 0, 0))>>();
    } else if constexpr (!gives_view<owner&>()) {
        return false;
    } else {
        if constexpr (!says_rows<!without_rows<owner>>()) return false;
        else return has_features_of_numbers<std::remove_pointer_t<decltype(as_view(std::declval<owner&>()).data)>>();
    }
}

/// The view of an operand, or pages as they are. A row of a matrix is (1, feature).
template <class V>
FOVEA_INLINE constexpr auto operand_of(V&& v) {
    using owner = std::remove_reference_t<V>;
    if constexpr (!is_operand<std::remove_cvref_t<V>>()) {
        return view<float, 2>();
    } else if constexpr (is_paged<std::remove_cvref_t<V>> || loaded_rows<std::remove_cvref_t<V>>) {
        return v;
    } else if constexpr (kind_of<owner> == container::matrix && like_vector<owner>) {
        if constexpr (owner::RowsAtCompileTime == 1) return view<std::remove_pointer_t<decltype(v.data())>, 2>(v);
        else return as_view(v);
    } else {
        return as_view(v);
    }
}

}  // namespace fovea::FOVEA_SET::detail
