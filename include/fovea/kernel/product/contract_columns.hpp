// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with keys in place whose features are added one after the other, as those with packed keys are: then both
// have the same bits.
#pragma once

#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// contract_columns: products of `Rows` queries with keys in place, keys in lanes.
///
///     scores[r][k] = sum_f queries[r][f] * keys[k][f],   k < count; unspecified from there to the next whole vector
///
/// Features are added in their order. Keys are transposed in registers, as many as a vector has lanes at a time.
template <int Rows, class T, class Arch, class Keys>
[[gnu::noinline]] void contract_columns(Keys const& keys, row_products<T> const& all) {
    using vector = pack<T, Arch>;
    constexpr int lanes = static_cast<int>(vector::lanes);
    T const* FOVEA_RESTRICT const queries = all.queries;
    T* FOVEA_RESTRICT const scores = all.scores;
    index_t const count = all.count, features = all.features, rows = all.rows, stride = all.stride;
    for (index_t first = 0; first < count; first += lanes) {
        auto const place = [&](index_t i) FOVEA_LAMBDA { return std::min(first + i, count - 1); };
        c_array<decltype(keys.rows.row(0)), lanes> from;
        for (index_t i = 0; i < lanes; ++i) from[i] = keys.rows.row(place(i));
        c_array<vector, Rows> sum;
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sum[r] = vector(T{0}); });
        auto const add = [&](auto whole, index_t f, index_t left) FOVEA_LAMBDA {
            T const* const query = queries + f * rows;
            c_array<vector, vector::lanes> column;
            unrolled<lanes>([&](auto i) FOVEA_LAMBDA { column[i] = keys.features(from[i], place(i), f, left); });
            lanes_of<T, Arch>::transpose(column);
            unrolled<lanes>([&](auto i) FOVEA_LAMBDA {
                if (!whole() && i >= left) return;
                unrolled<Rows>([&](auto r)
                                   FOVEA_LAMBDA { sum[r] = fma(vector(query[r * lanes + i]), column[i], sum[r]); });
            });
        };
        index_t f = 0;
        for (; f + lanes <= features; f += lanes) add(std::true_type{}, f, vector::lanes);
        if (f < features) add(std::false_type{}, f, features - f);
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sum[r].store(scores + r * stride + first); });
    }
}

}  // namespace fovea::FOVEA_SET::kernel
