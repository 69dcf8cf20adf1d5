// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features that are no product, computed for each pair of a tile and a panel.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <cmath>

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

/// a / (b + c), with a the same for all keys.
template <class Body>
inline constexpr bool is_quotient = false;
template <class A, class B, class C>
inline constexpr bool is_quotient<node<operations::times, A, node<reciprocal_of_sum, B, C>>> = true;

/// A sum and two quotients, by one division: a / x + b / y = (a y + b x) / (x y).
template <class T, class Arch, class Body, class Environment>
FOVEA_INLINE pack<T, Arch> quotients_added(pack<T, Arch> const& sum, Body const& body, Environment const& first,
                                           Environment const& second) {
    auto const numerator = [&](Environment const& here)
                               FOVEA_LAMBDA { return value_in_lanes<T, Arch>(get<0>(body), here); };
    auto const denominator = [&](Environment const& here) FOVEA_LAMBDA {
        auto const& reciprocal = get<1>(body);
        return value_in_lanes<T, Arch>(get<0>(reciprocal), here) + value_in_lanes<T, Arch>(get<1>(reciprocal), here);
    };
    auto const x = denominator(first), y = denominator(second);
    return sum + lanes_of<T, Arch>::quotient(fma(numerator(first), y, numerator(second) * x), x * y);
}

/// The greatest factor, whose inverse is the least exponential: the product of two sums of exponentials has a
/// reciprocal, and that of a sum and a coefficient is finite.
template <class T>
inline constexpr T greatest_factor = sizeof(T) == 4 ? T(1e18) : T(1e150);

/// True where n exponentials are in this range.
template <class T>
bool within_exponential_range(T const* from, index_t n, index_t stride = 1) {
    constexpr T most = greatest_factor<T>;
    bool within = true;
    for (index_t i = 0; i < n; ++i) within = within && from[i * stride] >= 1 / most && from[i * stride] <= most;
    return within;
}

/// The same of a factor of the query: exponentials, or coefficients of these.
template <class T, class Factor>
bool stays_in_range(Factor const&, T const* from, index_t n) {
    if constexpr (is_node_of<operations::exp, Factor>) return within_exponential_range(from, n);
    else return std::all_of(from, from + n, [](T x) { return std::abs(x) <= greatest_factor<T>; });
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
    auto const at = [&](index_t r, index_t v, index_t f) FOVEA_LAMBDA {
        return pair_feature_environment<T, Arch, base>{base{rows[r], first_key + v * vector::lanes},
                                                       from.queries + r * from.features + f,
                                                       from.query_stride,
                                                       from.keys + f * width + v * vector::lanes,
                                                       from.key_stride,
                                                       f};
    };
    auto const for_all = [&](auto const& f) FOVEA_LAMBDA {
        unrolled<Rows>([&](auto r)
                           FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = f(r, v); }); });
    };
    for_all([](auto, auto) FOVEA_LAMBDA { return vector(T{0}); });
    index_t f = 0;
    if constexpr (is_quotient<Body>)
        for (; f + 2 <= from.features; f += 2)
            for_all([&](auto r, auto v) FOVEA_LAMBDA {
                return quotients_added<T, Arch>(sum[r][v], body, at(r, v, f), at(r, v, f + 1));
            });
    for (; f < from.features; ++f)
        for_all([&](auto r, auto v) FOVEA_LAMBDA { return added<T, Arch>(sum[r][v], body, at(r, v, f)); });
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(scores + r * row_stride + v * vector::lanes); });
    });
}

}  // namespace fovea::FOVEA_SET::kernel
