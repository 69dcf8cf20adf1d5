// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/contract.hpp>

namespace fovea::kernel {

/// Inside sum(), lane by key: one feature of one query and of a panel of keys.
template <class T, class Arch, class Base>
struct pair_feature_environment : Base {
    T query;
    pack<T, Arch> key;
    index_t feature;

    using Base::operator();
    FOVEA_INLINE T operator()(q_t) const { return query; }
    FOVEA_INLINE pack<T, Arch> operator()(k_t) const { return key; }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return Base::lookup(table, at...);
        else return static_cast<T>(look_up<T, Arch>(table, at..., feature));
    }
};

/// pairwise: a body that does not separate, summed over the features of a query and a panel of keys.
///
///     scores[r][c] = sum_f body(queries[r][f], keys[f][c])
template <int Rows, int Vectors, class T, class Arch, class Body, class Keys>
[[gnu::noinline]] void pairwise(Body const& body, row_facts const* rows, Keys first_key,
                                T const* FOVEA_RESTRICT queries,  // (Rows, features)
                                index_t query_stride,
                                T const* FOVEA_RESTRICT keys,     // (features, Vectors * lanes)
                                index_t features,
                                T* FOVEA_RESTRICT scores,         // (Rows, Vectors * lanes)
                                index_t row_stride) {
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    using base = index_environment<T, Arch, Keys>;
    vector sum[Rows][Vectors];  // (Rows, Vectors), all in registers
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); }); });
    for (index_t f = 0; f < features; ++f)
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                pair_feature_environment<T, Arch, base> const here{
                    base{rows[r], first_key + v * vector::lanes}, queries[r * query_stride + f],
                    vector::load(keys + f * width + v * vector::lanes), f};
                sum[r][v] = sum[r][v] + as_pack<T, Arch>(evaluate(body, here));
            });
        });
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(scores + r * row_stride + v * vector::lanes); });
    });
}

}  // namespace fovea::kernel
