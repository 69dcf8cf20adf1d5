// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of numbers as sums of parts that a matrix unit multiplies.
#pragma once

#include <fovea/kernel/product/amx_packing.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// Pairs of two vectors of numbers in so many parts, each rounding what those before it leave: to + n * plane is the
/// nth.
template <int Parts, class T, class Arch>
FOVEA_INLINE void store_pair_parts(pack<T, Arch> low, pack<T, Arch> high, T* to, index_t plane) {
    using packing = amx_packing<T, Arch>;
    unrolled<Parts>([&](auto part) FOVEA_LAMBDA {
        auto const pairs = bf16_pairs<Arch>::paired(low, high);
        pairs.store(to + part() * plane);
        if constexpr (part() + 1 < Parts) {
            low = packing::remainder(low, packing::lower(pairs));
            high = packing::remainder(high, packing::upper(pairs));
        }
    });
}

/// pack_query_parts: rows of any numbers as pairs of features, a row in each lane, with zeros up to whole tiles:
/// (parts, round_up(features, 32) / 2, stride).
template <int Parts, class T, class Arch, class Rows>
void pack_query_parts(Rows const& row, transpose_target<T> const& to) {
    using vector = pack<T, Arch>;
    constexpr index_t lanes = vector::lanes;
    index_t const pairs = round_up(to.features, amx_packing<T, Arch>::elements) / 2, plane = pairs * to.stride;
    for (index_t first = 0; first < to.padded_rows; first += lanes)
        for (index_t f = 0; f < 2 * pairs; f += lanes) {
            vector block[lanes];
            for (index_t r = 0; r < lanes; ++r)
                block[r] = f < to.features
                             ? load_as<T, Arch>(row(std::min(first + r, to.count - 1)) + f, to.features - f)
                             : vector(T{0});
            lanes_of<T, Arch>::transpose(block);
            for (index_t i = 0; i < lanes; i += 2)
                store_pair_parts<Parts>(block[i], block[i + 1], to.first + (f + i) / 2 * to.stride + first, plane);
        }
}

}  // namespace fovea::FOVEA_SET::kernel
