// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with keys in place whose features are added one after the other, as those with packed keys are: then both
// have the same bits.
#pragma once

#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// contract_columns: products of `Rows` queries with keys in place, keys in lanes.
///
///     scores[r][k] = sum_f queries[r][f] * keys[k][f],   k < count; unspecified from there to the next whole vector
///
/// Features are added in their order. Keys are transposed in registers, as many as a vector has lanes at a time; the
/// sums of one such group wait for the latency of each addition while the next is transposed.
template <int Rows, class T, class Arch, class Keys>
[[gnu::noinline]] void contract_columns(Keys const& keys, row_products<T> const& all) {
    using vector = pack<T, Arch>;
    constexpr int lanes = static_cast<int>(vector::lanes), groups = 2;
    T const* FOVEA_RESTRICT const queries = all.queries;
    T* FOVEA_RESTRICT const scores = all.scores;
    index_t const count = all.count, features = all.features, rows = all.rows, stride = all.stride;
    for (index_t first = 0; first < count; first += groups * lanes) {
        c_array_2d<vector, groups, Rows> sum;
        unrolled<groups>([&](auto g) FOVEA_LAMBDA {
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sum[g][r] = vector(T{0}); });
        });
        for (index_t f = 0; f < features; f += lanes) {
            T const* const query = queries + f * rows;
            index_t const left = features - f;
            unrolled<groups>([&](auto g) FOVEA_LAMBDA {
                if (g > 0 && first + g * lanes >= count) return;
                c_array<vector, lanes> column;
                unrolled<lanes>([&](auto i) FOVEA_LAMBDA {
                    index_t const at = std::min(first + g * lanes + i, count - 1);
                    auto const row = keys.rows.row(at);
                    prefetch_features<vector::lanes>(keys.rows, row, f, keys.rows.distance(at));
                    column[i] = keys.features(row, at, f, left);
                });
                lanes_of<T, Arch>::transpose(column);
                auto const add = [&](auto i) FOVEA_LAMBDA {
                    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
                        sum[g][r] = fma(vector(query[r * lanes + i]), column[i], sum[g][r]);
                    });
                };
                if (left >= lanes) unrolled<lanes>(add);
                else
                    unrolled<lanes>([&](auto i) FOVEA_LAMBDA {
                        if (i < left) add(i);
                    });
            });
        }
        unrolled<groups>([&](auto g) FOVEA_LAMBDA {
            if (g > 0 && first + g * lanes >= count) return;
            unrolled<Rows>(
                [&](auto r) FOVEA_LAMBDA { sum[g][r].store(scores + r * stride + first + g * lanes); });
        });
    }
}

}  // namespace fovea::FOVEA_SET::kernel
