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

/// Rows of features through a body, side by side: to[f * stride + i] = scale(i) * body(row i)[f] for i < count, and
/// zeros up to `room`. `row(i)` is the pointer to a row, `base(i)` what names mean there. Rows are asked for ahead of
/// their use as far as there are any, `present` in all.
template <class T, class Arch, class Body, class Rows, class Bases, class Scales>
FOVEA_INLINE void transpose_features(Body const& body, Rows const& row, Bases const& base, Scales const& scale, index_t count,
                                     index_t room, index_t present, index_t features, T* to, index_t stride) {
    using vector = pack<T, Arch>;
    using lanes = lanes_of<T, Arch>;
    using element = std::remove_cvref_t<decltype(*row(0))>;
    constexpr index_t ahead = vector::lanes;
    for (index_t first = 0; first < room; first += vector::lanes) {
        index_t const rows = std::min<index_t>(count - first, vector::lanes);
        index_t const kept = std::min<index_t>(room - first, vector::lanes);
        for (index_t f = 0; f < features; f += vector::lanes) {
            vector block[vector::lanes];
            for (index_t i = 0; i < vector::lanes; ++i) {
                if (first + i + ahead < present) __builtin_prefetch(row(first + i + ahead) + f);
                if (i >= rows) {
                    block[i] = vector(T{0});
                } else if constexpr (std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>) {
                    block[i] = load_as<T, Arch>(row(first + i) + f, features - f) * vector(scale(first + i));
                } else {
                    feature_environment<T, Arch, element, element, std::remove_cvref_t<decltype(base(0))>> const here{
                        base(first + i), row(first + i), row(first + i), f, features - f};
                    block[i] = as_pack<T, Arch>(evaluate(body, here)) * vector(scale(first + i));
                }
            }
            lanes::transpose(block);
            for (index_t c = 0; c < std::min(features - f, vector::lanes); ++c) {
                if (kept == vector::lanes) block[c].store(to + (f + c) * stride + first);
                else lanes::store(block[c], to + (f + c) * stride + first, kept);
            }
        }
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
