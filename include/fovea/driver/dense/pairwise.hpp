// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features that are no product, computed for each pair of a tile and a panel.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/simd/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The environment inside sum() with keys in lanes: the factors of one query and of a pack of keys at one feature.
template <class T, class Arch, class Base>
struct pair_feature_environment : Base {
    T const* query;  // this row and feature of the first factor
    index_t query_stride;
    T const* key;  // these keys and this feature of the first factor
    index_t key_stride;
    index_t feature;

    using Base::operator();
    template <std::size_t I>
    FOVEA_INLINE T operator()(plan::query_factor<I>) const {
        return query[static_cast<index_t>(I) * query_stride];
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::key_factor<I>) const {
        return pack<T, Arch>::load(key + static_cast<index_t>(I) * key_stride);
    }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return Base::lookup(table, at...);
        else if constexpr ((std::integral<Index> && ...))
            return static_cast<T>(look_up<T, Arch>(table, at..., feature));
        else
            return real(
                look_up<T, Arch, asks_for_exact<T, node<at_operation, parameter<Element, 0>>>>(table, at..., feature));
    }
};

/// The factors of some queries and of a panel of keys, plane by plane.
template <class T>
struct pair_factors {
    T const* queries;      // (factors, rows, features)
    index_t query_stride;  // from factor to factor
    T const* keys;         // (factors, features, panel)
    index_t key_stride;    // from factor to factor
    index_t features;
};

/// A sum and the value of a body; the last product of the body and the addition are one step.
template <class T, class Arch, class Body, class Environment>
FOVEA_INLINE pack<T, Arch> added(pack<T, Arch> const& sum, Body const& body, Environment const& here) {
    if constexpr (is_node_of<operations::times, Body>)
        return fma(value_in_lanes<T, Arch>(get<0>(body), here), value_in_lanes<T, Arch>(get<1>(body), here), sum);
    else return sum + value_in_lanes<T, Arch>(body, here);
}

/// True where a factor of the query is far from overflow and underflow: exponentials, so that they and their sums with
/// those of keys have reciprocals; coefficients of these, so that the products are finite.
template <class T, class Factor>
bool stays_in_range(Factor const&, T const* from, index_t n, T most = sizeof(T) == 4 ? T(1e30) : T(1e250)) {
    bool within = true;
    for (index_t i = 0; i < n; ++i) {
        if constexpr (is_node_of<operations::exp, Factor>) within &= from[i] >= 1 / most && from[i] <= most;
        else within &= from[i] >= -most && from[i] <= most;
    }
    return within;
}

/// pairwise: a body that does not separate, summed over the features of a few queries and a panel of keys.
///
///     scores[r][c] = sum_f body(queries[r][f], keys[f][c])
template <int Rows, int Vectors, class T, class Arch, class Body, class Keys>
[[gnu::noinline]] void pairwise(Body const& body, row_coordinates const* rows, Keys first_key,
                                pair_factors<T> const& from,
                                T* FOVEA_RESTRICT scores,  // (Rows, Vectors * lanes)
                                index_t row_stride) {
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    using base = index_environment<T, Arch, Keys>;
    c_array_2d<vector, Rows, Vectors> sum;  // (Rows, Vectors), all in registers
    unrolled<Rows>([&](auto r)
                       FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); }); });
    for (index_t f = 0; f < from.features; ++f)
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                pair_feature_environment<T, Arch, base> const here{base{rows[r], first_key + v * vector::lanes},
                                                                   from.queries + r * from.features + f,
                                                                   from.query_stride,
                                                                   from.keys + f * width + v * vector::lanes,
                                                                   from.key_stride,
                                                                   f};
                sum[r][v] = added<T, Arch>(sum[r][v], body, here);
            });
        });
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(scores + r * row_stride + v * vector::lanes); });
    });
}

}  // namespace fovea::FOVEA_SET::kernel
