// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of values by a sparse row of weights: only values whose weight is not 0 are read.
#pragma once

#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/simd/storage.hpp>

namespace fovea::FOVEA_SET::kernel {

/// True where a weight of a pack is not 0.
template <class T, class Arch>
FOVEA_INLINE bool any_nonzero(T const* weights) {
    auto const w = pack<T, Arch>::load(weights);
    return (!(w == pack<T, Arch>(T{0}))).any();
}

/// The number of packs of a row of weights in which one is not 0; the row is padded to whole packs.
template <class T, class Arch>
FOVEA_INLINE index_t nonzero_packs(T const* weights, index_t keys) {
    using vector = pack<T, Arch>;
    index_t packs = 0;
    for (index_t k = 0; k < keys; k += vector::lanes) packs += any_nonzero<T, Arch>(weights + k);
    return packs;
}

/// True where most packs of some rows of weights are zeros, as sparse normalizers leave them.
template <class T, class Arch>
bool mostly_zero(T const* weights, index_t stride, index_t rows, index_t keys) {
    index_t packs = 0;
    for (index_t r = 0; r < rows; ++r) packs += nonzero_packs<T, Arch>(weights + r * stride, keys);
    return 2 * packs * pack<T, Arch>::lanes <= rows * keys;
}

/// accumulate_nonzero: adds values with a sparse row of weights; values of weight 0 are not read.
///
///     sums[c] = sums[c] + sum_k weights[k] * values[k][c],   k with weights[k] != 0
template <class T, class Arch, class Aggregate, class Values>
[[gnu::noinline]] void accumulate_nonzero(Aggregate const& aggregate,
                                          T const* weights,  // (keys), padded to whole packs
                                          index_t keys,
                                          Values const& values,    // (keys, width)
                                          T* FOVEA_RESTRICT sums,  // (width)
                                          index_t width) {
    using vector = pack<T, Arch>;
    for (index_t k = 0; k < keys; k += vector::lanes) {
        if (!any_nonzero<T, Arch>(weights + k)) continue;
        for (index_t i = k; i < std::min(k + vector::lanes, keys); ++i) {
            if (weights[i] == T{0}) continue;
            auto const* const value = values.row(i);
            for (index_t c = 0; c < width; c += vector::lanes)
                aggregate_step(aggregate, vector::load(sums + c), vector(weights[i]),
                               load_as<T, Arch>(value + c, width - c))
                    .store(sums + c);
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
