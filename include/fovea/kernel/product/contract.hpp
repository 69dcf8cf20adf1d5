// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The product Q K^T with a key in each lane.
#pragma once

#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/product/outer_product.hpp>
#include <fovea/kernel/product/step.hpp>

namespace fovea::FOVEA_SET::kernel {

/// contract: products of a tile of queries with a panel of keys, in registers.
///
///     scores[r][c] = sum_f queries[f][r] * keys[f][c]
///
/// `features` counts steps, each of which may take several features; a step may leave the scale of each row to its
/// sums. Lines of `next` are prefetched meanwhile.
template <int Rows, int Vectors, class T, class Arch, class Step = number_products>
[[gnu::noinline]] void contract(T const* FOVEA_RESTRICT queries,  // (features, Rows)
                                T const* FOVEA_RESTRICT keys,     // (features, Vectors * lanes)
                                index_t key_stride,               // from feature to feature
                                index_t features,
                                T* FOVEA_RESTRICT scores,  // (Rows, Vectors * lanes)
                                index_t row_stride, [[maybe_unused]] T const* scales, prefetch_queue& next) {
    register_tile<Rows, Vectors, T, Arch> tile;
    broadcast_operand<T, unit_stride, constant_stride<Rows>> const columns{queries, {}, {}};
    tile.add_products_and_prefetch(Step{}, columns, vector_operand<T>{keys, key_stride}, features, next);
    if constexpr (Step::scales) tile.scale_rows(scales);
    tile.store(scores, row_stride);
}

}  // namespace fovea::FOVEA_SET::kernel
