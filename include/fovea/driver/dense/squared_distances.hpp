// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Squared distances of pairs from products and squared norms, where these do not round them away.
#pragma once

#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The keys of a panel about a centre: to[f][c] = factor[f] * (keys[f][c] + Sign * centre[f]), and their squared norms.
template <int Vectors, int Sign, class T, class Arch>
FOVEA_INLINE void centre_keys(T const* keys,    // (features, Vectors * lanes)
                              T const* centre,  // (features)
                              T const* factor,  // (features)
                              index_t features,
                              T* to,       // like keys
                              T* norms) {  // (Vectors * lanes)
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array<vector, Vectors> sum;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[v] = vector(T{0}); });
    for (index_t f = 0; f < features; ++f)
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            index_t const at = f * width + v * vector::lanes;
            auto const key = vector::load(keys + at) + vector(Sign * centre[f]);
            auto const scaled = key * vector(factor[f]);
            scaled.store(to + at);
            sum[v] = fma(scaled, scaled, sum[v]);
        });
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[v].store(norms + v * vector::lanes); });
}

/// Products q k of one query become |q|^2 + |k|^2 + factor q k, where the factor is -2 or 2. What products and norms
/// round is relative to the norms: returns false where the distance of a pair is less than a 16th of their sum, or not
/// a number, and has to be computed in another way.
template <int Vectors, class T, class Arch>
FOVEA_INLINE bool complete_squares(T query_norm, T const* key_norms, T factor, T* products) {
    using vector = pack<T, Arch>;
    auto close = vector::mask::none();
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        auto const norms = vector(query_norm) + vector::load(key_norms + v * vector::lanes);
        auto const distance = fma(vector(factor), vector::load(products + v * vector::lanes), norms);
        distance.store(products + v * vector::lanes);
        close = close || !(distance - norms * vector(T(0.0625)) >= vector(T{0}));
    });
    return !close.any();
}

}  // namespace fovea::FOVEA_SET::kernel
