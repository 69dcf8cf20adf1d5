// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bfloat16 operands as they are stored, two elements to a lane.
#pragma once

#include <fovea/kernel/packing.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/kernel/product/contract_rows.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/simd/simd.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The step of products of pairs.
struct bf16_pair_products {
    static constexpr bool scales = true;
    static constexpr index_t per_step = 2;
    template <class V>
    FOVEA_INLINE V operator()(V const& sum, V const& a, V const& b) const {
        return bf16_pairs<typename V::architecture>::add_products(a, b, sum);
    }
};

/// Keys as they are stored, as bf16 pairs.
template <class Arch, class Rows>
struct bf16_pairs_in_place {
    using products = bf16_pair_products;
    using Element = bfloat16;
    Rows rows;

    FOVEA_INLINE pack<float, Arch> features(bfloat16 const* row, index_t, index_t offset, index_t count) const {
        return load_bf16_pairs<Arch>(row + offset, count);
    }
};

/// Stores the bf16 pairs of rows, transposed: to[p * stride + i] is pair p of row(i); `features` counts elements.
template <class Arch, class Rows>
FOVEA_INLINE void transpose_bf16_pairs(Rows const& row, transpose_target<float> const& destination) {
    auto const [count, padded_rows, available, features, to, stride] = destination;
    using vector = pack<float, Arch>;
    constexpr index_t lines = vector::lanes * vector::lanes * 4 / cache_line;
    for_packs_of_rows<vector::lanes>(padded_rows, stride, [&](index_t first) FOVEA_LAMBDA {
        bfloat16 const* from[vector::lanes];
        row_prefetch<bfloat16, vector::lanes> ahead{{}, features * 2};
        if (first + 2 * vector::lanes >= available) ahead.row = vector::lanes;
        for (index_t i = 0; i < vector::lanes; ++i) {
            from[i] = row(std::min(first + i, count - 1));
            if (ahead.row == 0) ahead.rows[i] = row(std::min(first + i + 2 * vector::lanes, available - 1));
        }
        // Of an odd number of features the last pair is half a pair: elements are counted, not pairs.
        auto const load = [&](index_t i, index_t p, index_t)
                              FOVEA_LAMBDA { return load_bf16_pairs<Arch>(from[i] + 2 * p, features - 2 * p); };
        transpose_rows<float, Arch>(
            load, [&]() FOVEA_LAMBDA { ahead.prefetch(lines); },
            [](vector const& column) FOVEA_LAMBDA { return column; }, bf16_pair_count(features), to + first, stride);
    });
}

/// Weighted sums of bfloat16 values that are read as stored, with weights as pairs of two keys. Rows of two keys are
/// interleaved in registers, which register_tile does not do.
template <int Rows, int Vectors, class Arch, class Values>
[[gnu::noinline]] void accumulate_bf16_pairs(weighted_values<float, Values> const& all) {
    auto const [weights, keys, values, sums, sum_stride, rescale] = all;
    using vector = pack<float, Arch>;
    using arithmetic = bf16_pairs<Arch>;
    static_assert(Vectors % 2 == 0);
    c_array_2d<vector, Rows, Vectors> sum;  // all in registers
    unrolled<Rows>([&](auto r)
                       FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(0.0f); }); });
    auto const add = [&](index_t pair, auto both) FOVEA_LAMBDA {
        bfloat16 const* const low = values.row(2 * pair);
        bfloat16 const* const high = values.row(2 * pair + (both ? 1 : 0));
        prefetch_to_l2<Vectors * vector::lanes>(values.after(2 * pair));
        if constexpr (both) prefetch_to_l2<Vectors * vector::lanes>(values.after(2 * pair + 1));
        c_array_2d<vector, 2, Vectors / 2> row;
        c_array<vector, Vectors> value;  // one row is read before the other, in the order of memory
        unrolled<Vectors / 2>([&](auto v)
                                  FOVEA_LAMBDA { row[0][v] = opaque(arithmetic::load(low + 2 * v * vector::lanes)); });
        unrolled<Vectors / 2>([&](auto v) FOVEA_LAMBDA {
            row[1][v] = both ? opaque(arithmetic::load(high + 2 * v * vector::lanes)) : vector(0.0f);
        });
        unrolled<Vectors / 2>([&](auto v) FOVEA_LAMBDA {
            vector pairs[2];
            arithmetic::interleaved(row[0][v], row[1][v], pairs);
            value[2 * v] = opaque(pairs[0]);
            value[2 * v + 1] = opaque(pairs[1]);
        });
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            vector const weight(weights(r, pair));
            unrolled<Vectors>([&](auto v)
                                  FOVEA_LAMBDA { sum[r][v] = arithmetic::add_products(weight, value[v], sum[r][v]); });
        });
    };
    for (index_t pair = 0; pair < keys / 2; ++pair) add(pair, std::true_type{});
    if (keys % 2 != 0) add(keys / 2, std::false_type{});
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            float* const to = sums + r * sum_stride + v * vector::lanes;
            fma(vector(rescale[r]), vector::load(to), sum[r][v]).store(to);
        });
    });
}

/// The configuration in which pairs are multiplied, on an architecture that asks for one.
template <class Arch>
struct bf16_scope {
    struct type {};
};
template <class Arch>
    requires requires { typename bf16_pairs<Arch>::scope; }
struct bf16_scope<Arch> {
    using type = typename bf16_pairs<Arch>::scope;
};

/// The product of bfloat16 operands as they are stored, two features, or the values of two keys, to a lane. Weights are
/// rounded to bfloat16, the factor of a row is applied to its sums.
template <class T, class Arch>
struct bf16_product {
    using number = T;
    using architecture = Arch;
    using step = bf16_pair_products;
    using scope = typename bf16_scope<Arch>::type;
    static constexpr bool available = plan::multiplies_as_stored<T, Arch>;
    static constexpr bool takes_query_lanes = false;
    template <class Rows>
    using keys_in_place = bf16_pairs_in_place<Arch, Rows>;

    template <class Body, class Rows, class Bases, class Scales>
    static void transpose(Body const&, Rows const& row, Bases const&, Scales const&,
                          transpose_target<T> const& destination) {
        transpose_bf16_pairs<Arch>(row, destination);
    }
    template <class Body, class Base, class F>
    static void for_packs(Body const&, bfloat16 const* row, Base const&, T, index_t features, F const& store) {
        index_t const lanes = pack<T, Arch>::lanes;
        for (index_t p = 0; p < bf16_pair_count(features); p += lanes)
            store(p / lanes, load_bf16_pairs<Arch>(row + 2 * p, features - 2 * p));
    }
    static void pack_values(bfloat16 const* low, bfloat16 const* high, index_t n, T* to) {
        interleave_rows<Arch>(low, high, n, to);
    }
    static void round_weights(T* row, index_t count) {
        round_to_bf16_pairs<Arch>(row, ceil_div(count, pack<T, Arch>::lanes));
    }
    template <int Rows, int Vectors, class Values>
    static void accumulate_as_stored(weighted_values<T, Values> const& all) {
        accumulate_bf16_pairs<Rows, Vectors, Arch>(all);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
