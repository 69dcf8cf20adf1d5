// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of keys or values as microkernels read them in place, each from front to back: at equal distances, or anywhere.
#pragma once

#include <fovea/kernel/prefetch.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Rows at equal distances.
template <class Element>
struct even_rows {
    Element const* first;
    index_t stride;
    index_t ahead = 0;  // elements to what is prefetched beside a row; 0: nothing is

    FOVEA_INLINE Element const* row(index_t i) const { return first + i * stride; }
    FOVEA_INLINE void advance(index_t rows = 1) { first += rows * stride; }
    /// The rows from one of them on, each from a feature on.
    even_rows from(index_t i, index_t feature) const { return {row(i) + feature, stride, ahead}; }

    /// The row that is read some time after row i, and how far that is from it.
    FOVEA_INLINE Element const* after(index_t i) const { return row(i) + ahead; }
    FOVEA_INLINE index_t distance(index_t) const { return ahead; }
};
template <class Element>
even_rows(Element const*, index_t) -> even_rows<Element>;

/// Rows anywhere, each at its address; the addresses of `ahead` more rows follow.
template <class Element>
struct listed_rows {
    Element const* const* at;
    index_t feature = 0;
    index_t ahead = 0;  // rows to the one that is prefetched beside a row; 0: none is

    FOVEA_INLINE Element const* row(index_t i) const { return at[i] + feature; }
    FOVEA_INLINE void advance(index_t rows = 1) { at += rows; }
    listed_rows from(index_t i, index_t further) const { return {at + i, feature + further, ahead}; }

    FOVEA_INLINE Element const* after(index_t i) const { return at[i + ahead] + feature; }
    FOVEA_INLINE index_t distance(index_t i) const { return at[i + ahead] - at[i]; }
};

/// The type of the elements of such rows.
template <class Rows>
using element_in_place = std::remove_cvref_t<decltype(*std::declval<Rows const&>().row(0))>;

}  // namespace fovea::FOVEA_SET::kernel
