// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

#include <vector>

namespace fovea {

/// tensor: a small owning array in C order, for examples and tests; the library itself works on views.
template <class T, int Rank>
struct tensor {
    std::vector<T> elements;
    extents_t<Rank> extents{};

    tensor() = default;
    explicit tensor(extents_t<Rank> sizes, T fill = T{}) : extents(sizes) {
        elements.assign(static_cast<std::size_t>(fovea::view<T, Rank>(nullptr, sizes).size()), fill);
    }

    fovea::view<T, Rank> view() { return {elements.data(), extents}; }
    fovea::view<T const, Rank> view() const { return {elements.data(), extents}; }
    operator fovea::view<T, Rank>() { return view(); }
    operator fovea::view<T const, Rank>() const { return view(); }

    index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    index_t size() const { return static_cast<index_t>(elements.size()); }
    T* data() { return elements.data(); }
    T const* data() const { return elements.data(); }
    auto begin() { return elements.begin(); }
    auto end() { return elements.end(); }
    auto begin() const { return elements.begin(); }
    auto end() const { return elements.end(); }

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
