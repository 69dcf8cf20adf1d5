// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with keys in place: for so few queries that packing the keys would cost more than it saves.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/product/outer_product.hpp>
#include <fovea/kernel/product/rows_in_place.hpp>
#include <fovea/simd/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Keys as they are stored.
template <class T, class Arch, class Rows>
struct keys_in_place {
    using products = number_products;
    Rows rows;

    template <class Row>
    FOVEA_INLINE pack<T, Arch> features(Row const& row, index_t, index_t offset, index_t count) const {
        return features_of<T, Arch>(rows, row, offset, count);
    }
};

/// Keys to which `body`, an expression of k, is applied as they are read; `base(i)` is the environment of the names in
/// it for row i.
template <class T, class Arch, class Body, class Rows, class Bases>
struct evaluated_keys {
    using products = number_products;
    using Element = element_in_place<Rows>;
    Body const& body;
    Rows rows;
    Bases base;

    FOVEA_INLINE pack<T, Arch> features(Element const* row, index_t i, index_t offset, index_t count) const {
        using vector = pack<T, Arch>;
        feature_environment<T, Arch, Element, Element, std::remove_cvref_t<decltype(base(0))>> const here{
            base(i), row, row, offset, count};
        auto const value = as_pack<T, Arch>(evaluate(body, here));
        if (count >= vector::lanes) return value;
        return select(vector::iota() < vector(count), value, vector(T{0}));
    }
};

/// `Packs` packs of a key from a feature on, of which `left` features are left.
template <int Packs, class T, class Arch, class Keys, class Row>
FOVEA_INLINE void load_key(Keys const& keys, Row const& row, [[maybe_unused]] index_t i, index_t feature,
                           [[maybe_unused]] index_t left, c_array<pack<T, Arch>, Packs>& to) {
    if constexpr (Packs > 1 && packs_at_once<T, Arch, decltype(Keys::rows)> == Packs) {
        load_features<Packs, T, Arch>(keys.rows, row, feature, to);
    } else {
        constexpr int width = static_cast<int>(pack<T, Arch>::lanes * Keys::products::per_step);
        unrolled<Packs>(
            [&](auto p) FOVEA_LAMBDA { to[p] = opaque(keys.features(row, i, feature + p * width, left - p * width)); });
    }
}

/// The packs of one key that are loaded before those of the other: as many as find room beside the sums.
template <class T, class Arch, class Keys>
constexpr int packs_of_key(int rows) {
    int const decoded = packs_at_once<T, Arch, decltype(Keys::rows)>;
    return decoded > 1 ? std::min(decoded, 4) : Arch::registers >= 32 || rows <= 2 ? 4 : 2;
}

/// Queries, and their products with some keys.
template <class T>
struct row_products {
    T const* queries;  // (packs of features, rows, lanes)
    index_t rows;      // of the register tile
    index_t count;     // keys
    index_t features;
    T* scores;  // (rows, count rounded up)
    index_t stride;
    T const* scales = nullptr;  // (rows), of products whose step applies them to sums
};

/// contract_rows: products of a tile of queries with keys in place, features in lanes.
///
///     scores[r][k] = sum_f queries[r][f] * keys[k][f],   k < count; unspecified from there to the next whole vector
///
/// A step may take several features of a lane, as the queries are then laid out too, and may leave the scale of each
/// row to its sums (kernel/product/outer_product.hpp). `Rows` queries, a divisor of `rows`, are multiplied at a time;
/// the queries that follow read the keys from a cache. Two keys share each load of a query: a few vectors of the one
/// key are read, then of the other, since memory is fastest when its lines are read almost in order.
template <int Rows, class T, class Arch, class Keys>
[[gnu::noinline]] void contract_rows(Keys const& keys, row_products<T> const& all) {
    T const* FOVEA_RESTRICT const queries = all.queries;
    T* FOVEA_RESTRICT const scores = all.scores;
    [[maybe_unused]] T const* const scales = all.scales;
    index_t const rows = all.rows, count = all.count, features = all.features, row_stride = all.stride;
    using vector = pack<T, Arch>;
    using products = typename Keys::products;
    constexpr int lanes = static_cast<int>(vector::lanes);
    constexpr int per_lane = products::per_step, width = lanes * per_lane;  // features of a lane, of a pack
    constexpr int run = packs_of_key<T, Arch, Keys>(Rows);
    auto const multiply = [&](index_t first, index_t row) FOVEA_LAMBDA {
        c_array_2d<vector, Rows, lanes> sums;
        for (int k = 0; k < lanes; k += 2) {
            c_array_2d<vector, 2, Rows> sum;
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sum[0][r] = sum[1][r] = vector(T{0}); });
            if (first + k < count) {
                index_t const at[2] = {first + k, std::min(first + k + 1, count - 1)};
                decltype(keys.rows.row(0)) const from[2] = {keys.rows.row(at[0]), keys.rows.row(at[1])};
                index_t const distance[2] = {keys.rows.distance(at[0]), keys.rows.distance(at[1])};
                auto const add = [&](auto packs, index_t f, index_t left) FOVEA_LAMBDA {
                    c_array_2d<vector, 2, packs()> key;
                    unrolled<2>([&](auto i) FOVEA_LAMBDA {
                        if (row == 0) prefetch_features<packs() * width>(keys.rows, from[i], f, distance[i]);
                        load_key<packs(), T, Arch>(keys, from[i], at[i], f, left, key[i]);
                    });
                    unrolled<packs()>([&](auto p) FOVEA_LAMBDA {
                        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
                            auto const query =
                                opaque(vector::load(queries + (f / per_lane + p * lanes) * rows + (row + r) * lanes));
                            unrolled<2>([&](auto i)
                                            FOVEA_LAMBDA { sum[i][r] = products{}(sum[i][r], key[i][p], query); });
                        });
                    });
                };
                index_t f = 0;
                for (; f + run * width <= features; f += run * width)
                    add(std::integral_constant<int, run>{}, f, run * width);
                if constexpr (packs_at_once<T, Arch, decltype(Keys::rows)> == 1) {  // else blocks are whole
                    if (run > 2 && f + 2 * width <= features) {
                        add(std::integral_constant<int, 2>{}, f, 2 * width);
                        f += 2 * width;
                    }
                    for (; f < features; f += width) add(std::integral_constant<int, 1>{}, f, features - f);
                }
            }
            unrolled<2>([&](auto i)
                            FOVEA_LAMBDA { unrolled<Rows>([&](auto r) FOVEA_LAMBDA { sums[r][k + i] = sum[i][r]; }); });
        }
        for (int r = 0; r < Rows; ++r) {
            auto total = lanes_of<T, Arch>::sums_of_rows(sums[r]);
            if constexpr (products::scales) total = total * vector(scales[row + r]);
            total.store(scores + (row + r) * row_stride + first);
        }
    };
    for (index_t first = 0; first < count; first += lanes)
        for (index_t row = 0; row < rows; row += Rows) multiply(first, row);
}

}  // namespace fovea::FOVEA_SET::kernel
