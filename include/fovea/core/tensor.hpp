// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/view.hpp>

#include <type_traits>
#include <valarray>
#include <vector>

namespace fovea::FOVEA_SET::detail {
/// Errors: shape_error for a negative extent.
template <int Rank>
[[gnu::noinline]] void require_extents(extents_t<Rank> const& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] < 0)
            raise_error(shape_error("a tensor has extent ", sizes[i], " along axis ", i, ": it must be 0 or more"));
}
}  // namespace fovea::FOVEA_SET::detail

namespace fovea {

/// tensor: a small owning array in C order, for examples and tests; the library itself works on views.
template <class T, int Rank>
struct tensor {
    /// One bool after the other, which a vector does not have.
    std::conditional_t<std::is_same_v<T, bool>, std::valarray<bool>, std::vector<T>> elements;
    extents_t<Rank> extents{};

    FOVEA_TAGGED tensor() {}
    FOVEA_TAGGED [[gnu::flatten]] explicit tensor(extents_t<Rank> sizes, T fill = T{}) : extents(sizes) {
        detail::require_extents<Rank>(sizes);
        auto const count = static_cast<std::size_t>(fovea::view<T, Rank>(nullptr, sizes).size());
        if constexpr (std::is_same_v<T, bool>) elements.resize(count, fill);
        else elements = std::vector<T>(count, fill);
    }
    /// An extent for each axis, or a sentence.
    template <std::size_t Extents>
        requires(Extents != std::size_t{Rank})
    FOVEA_TAGGED explicit tensor(index_t const (&)[Extents], T = T{}) {
        static_assert(detail::has_extents_of_rank<Extents == std::size_t{Rank}>());
    }

    FOVEA_TAGGED fovea::view<T, Rank> view() { return {data(), extents}; }
    FOVEA_TAGGED fovea::view<T const, Rank> view() const { return {data(), extents}; }
    FOVEA_TAGGED operator fovea::view<T, Rank>() { return view(); }
    FOVEA_TAGGED operator fovea::view<T const, Rank>() const { return view(); }

    FOVEA_TAGGED index_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
    FOVEA_TAGGED index_t size() const { return static_cast<index_t>(elements.size()); }
    FOVEA_TAGGED T* data() { return size() > 0 ? &elements[0] : nullptr; }
    FOVEA_TAGGED T const* data() const { return size() > 0 ? &elements[0] : nullptr; }
    FOVEA_TAGGED T* begin() { return data(); }
    FOVEA_TAGGED T* end() { return data() + size(); }
    FOVEA_TAGGED T const* begin() const { return data(); }
    FOVEA_TAGGED T const* end() const { return data() + size(); }

    template <class... Index>
    FOVEA_TAGGED T& operator()(Index... at) {
        return view()(at...);
    }
    template <class... Index>
    FOVEA_TAGGED T const& operator()(Index... at) const {
        return view()(at...);
    }
};

}  // namespace fovea

#include <fovea/core/epilogue.hpp>
