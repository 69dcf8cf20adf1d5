// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is said of arguments that make no view.
#pragma once

#include <fovea/core/config.hpp>

namespace fovea::FOVEA_SET::detail {

/// The sentence for a wrong number of extents.
template <bool Equal>
constexpr bool has_extents_of_rank() {
    static_assert(Equal, "fovea: the rank and the number of extents differ: give one extent for each axis");
    return true;
}

/// The sentence for numbers one after another where rows of them are meant; true otherwise.
template <bool Rows>
constexpr bool says_rows() {
    static_assert(Rows,
                  "fovea: a container of numbers does not say how many features a row has: write "
                  "view(elements, {rows, features})");
    return Rows;
}

/// The sentence for a matrix that is not stored by rows; true where it is.
template <bool Row_major>
constexpr bool is_row_major() {
    static_assert(Row_major,
                  "fovea: a view needs row-major storage: store it by rows, or pass m.transpose() where the transpose "
                  "of a matrix is meant");
    return Row_major;
}

}  // namespace fovea::FOVEA_SET::detail
