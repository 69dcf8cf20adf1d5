// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/accumulate.hpp>
#include <fovea/simd/storage.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Whether any weight of a pack is not 0.
template <class T, class Arch>
FOVEA_INLINE bool is_present(T const* weights) {
    auto const w = pack<T, Arch>::load(weights);
    return (!(w == pack<T, Arch>(T{0}))).any();
}

/// How many packs of a row of weights hold one that is not 0; the row is rounded up to whole packs.
template <class T, class Arch>
FOVEA_INLINE index_t present_packs(T const* weights, index_t keys) {
    using vector = pack<T, Arch>;
    index_t present = 0;
    for (index_t k = 0; k < keys; k += vector::lanes) present += is_present<T, Arch>(weights + k);
    return present;
}

/// accumulate_present: values added with one row of weights, most of which are 0: values of weight 0 are not read.
///
///     sums[c] = sums[c] + sum_k weights[k] * values[k][c],   k with weights[k] != 0
template <class T, class Arch, class Aggregate, class Value>
[[gnu::noinline]] void accumulate_present(Aggregate const& aggregate,
                                          T const* weights,  // (keys), rounded up to whole packs
                                          index_t keys,
                                          Value const* values,  // (keys, width)
                                          index_t value_stride,
                                          T* FOVEA_RESTRICT sums,  // (width)
                                          index_t width) {
    using vector = pack<T, Arch>;
    for (index_t k = 0; k < keys; k += vector::lanes) {
        if (!is_present<T, Arch>(weights + k)) continue;
        for (index_t i = k; i < std::min(k + vector::lanes, keys); ++i) {
            if (weights[i] == T{0}) continue;
            Value const* const value = values + i * value_stride;
            for (index_t c = 0; c < width; c += vector::lanes)
                aggregate_step(aggregate, vector::load(sums + c), vector(weights[i]),
                               load_as<T, Arch>(value + c, width - c))
                    .store(sums + c);
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
