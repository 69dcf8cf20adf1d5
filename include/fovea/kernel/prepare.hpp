// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands rearranged for the register tiles; factors of one side are applied on the way.
#pragma once

#include <fovea/kernel/environment.hpp>

namespace fovea::kernel {

/// One row of features through a body, scattered with a stride: to[f * stride] = scale * body(row[f]).
///
/// `body` is an expression of q or of k; a unit body gives ones.
template <class T, class Arch, class Body, class Base, class Element>
FOVEA_INLINE void scatter_features(Body const& body, Base const& base, Element const* row, index_t features, T scale,
                                   T* to, index_t stride) {
    if constexpr (std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>) {
        for (index_t f = 0; f < features; ++f) to[f * stride] = scale * static_cast<T>(row[f]);
    } else {
        for_features<T, Arch>(body, base, row, row, features, [&](index_t offset, auto const& value) {
            auto const lane = lanes_of<T, Arch>::stored(value);
            for (index_t i = 0; i < std::min(features - offset, pack<T, Arch>::lanes); ++i)
                to[(offset + i) * stride] = scale * lane[static_cast<std::size_t>(i)];
        });
    }
}

/// True where n numbers and their products with others like them stay clear of the ends of the range of T:
/// what tanh_of_product asks of its exponentials.
template <class T>
bool within_exponential_range(T const* from, index_t n, index_t stride = 1) {
    constexpr T least = sizeof(T) == 4 ? T(1e-37) : T(1e-300);
    bool within = true;
    for (index_t i = 0; i < n; ++i) within = within && from[i * stride] >= least && from[i * stride] <= 1 / least;
    return within;
}

/// True where every element of n is finite.
template <class T, class Arch, class Element>
FOVEA_INLINE bool all_finite(Element const* from, index_t n) {
    using vector = pack<T, Arch>;
    vector probe(T{0});
    for (index_t i = 0; i < n; i += vector::lanes) probe = fma(load_as<T, Arch>(from + i, n - i), vector(T{0}), probe);
    return lanes_of<T, Arch>::sum(probe) == T{0};
}

}  // namespace fovea::kernel
