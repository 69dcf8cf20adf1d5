// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing the gradients that were asked for.
#pragma once

#include <fovea/spec/outputs.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace detail {
template <std::size_t Rank, class F, class... Index>
void for_each_index(std::array<index_t, Rank> const& extents, F const& f, Index... index) {
    if constexpr (sizeof...(Index) == Rank) f(index...);
    else
        for (index_t i = 0; i < extents[sizeof...(Index)]; ++i) for_each_index(extents, f, index..., i);
}
}  // namespace detail

/// Rounds numbers, at(i) in the order of their indices, to the elements of what is asked for, or to their sums with
/// what these hold.
template <class At, class Asked>
void write_rounded(At const& at, Asked const& asked) {
    auto const& target = asked.target;
    using T = std::remove_pointer_t<decltype(target.data)>;
    constexpr auto last = std::size_t{Asked::rank - 1};
    index_t const count = target.extents[last], stride = target.strides[last];
    std::array<index_t, last> outer;
    std::copy_n(target.extents.begin(), last, outer.begin());
    index_t i = 0;
    detail::for_each_index(outer, [&](auto... index) {
        T* const row = count > 0 ? target.place(index..., index_t{0}) : nullptr;
        for (index_t c = 0; c < count; ++c, ++i) {
            T& element = row[c * stride];
            auto const amount = at(i);
            element = rounded_to<T>(asked.adds ? static_cast<decltype(amount)>(element) + amount : amount);
        }
    });
}

}  // namespace fovea::FOVEA_SET
