// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/unrolled.hpp>
#include <fovea/kernel/upcoming.hpp>
#include <fovea/kernel/words.hpp>

namespace fovea::FOVEA_SET::kernel {

/// contract: products of a tile of queries with a panel of keys, in registers.
///
///     scores[r][c] = sum_f queries[f][r] * keys[f][c]
///
/// Meanwhile asks for lines that come later; what is left of them is returned. Products of words take words for
/// features, and multiply what comes out by a scale for each row.
template <int Rows, int Vectors, class T, class Arch, class Products = number_products, class Coming = no_lines>
[[gnu::noinline]] Coming contract(T const* FOVEA_RESTRICT queries,  // (features, Rows)
                                  T const* FOVEA_RESTRICT keys,     // (features, Vectors * lanes)
                                  index_t key_stride,               // from feature to feature
                                  index_t features,
                                  T* FOVEA_RESTRICT scores,  // (Rows, Vectors * lanes)
                                  index_t row_stride, [[maybe_unused]] T const* scales = nullptr, Coming coming = {}) {
    using vector = pack<T, Arch>;
    grid_of<vector, Rows, Vectors> sum;  // (Rows, Vectors), all in registers
    unrolled<Rows>([&](auto r)
                       FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); }); });
    for (index_t f = 0; f < features; ++f, queries += Rows, keys += key_stride) {
        line_of<vector, Vectors> key;
        coming.ask();
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { key[v] = vector::load(keys + v * vector::lanes); });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const query(queries[r]);
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = Products::add(query, key[v], sum[r][v]); });
        });
    }
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            if constexpr (Products::scales) sum[r][v] = sum[r][v] * vector(scales[r]);
            sum[r][v].store(scores + r * row_stride + v * vector::lanes);
        });
    });
    return coming;
}

}  // namespace fovea::FOVEA_SET::kernel
