// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <type_traits>
#include <valarray>
#include <vector>

namespace fovea {

/// tensor: a small owning array in C order, for examples and tests; the library itself works on views.
template <class T, int Rank>
struct tensor {
    /// One bool after the other, which a vector does not have.
    std::conditional_t<std::is_same_v<T, bool>, std::valarray<bool>, std::vector<T>> elements;
    extents_t<Rank> extents{};

    tensor() = default;
    explicit tensor(extents_t<Rank> sizes, T fill = T{}) : extents(sizes) {
        elements.resize(static_cast<std::size_t>(fovea::view<T, Rank>(nullptr, sizes).size()), fill);
    }

    fovea::view<T, Rank> view() { return {data(), extents}; }
    fovea::view<T const, Rank> view() const { return {data(), extents}; }
    operator fovea::view<T, Rank>() { return view(); }
    operator fovea::view<T const, Rank>() const { return view(); }

    index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    index_t size() const { return static_cast<index_t>(elements.size()); }
    T* data() { return size() > 0 ? &elements[0] : nullptr; }
    T const* data() const { return size() > 0 ? &elements[0] : nullptr; }
    T* begin() { return data(); }
    T* end() { return data() + size(); }
    T const* begin() const { return data(); }
    T const* end() const { return data() + size(); }

    template <class... Index>
    T& operator()(Index... at) {
        return view()(at...);
    }
    template <class... Index>
    T const& operator()(Index... at) const {
        return view()(at...);
    }
};

}  // namespace fovea
