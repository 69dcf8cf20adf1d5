// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maxima, weights and sums of packs of scores, with keys or with rows in lanes.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/plan/variants.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>
#include <fovea/spec/row.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// A pack of scores becomes f of it; 0 for excluded ones, unless the normalizer says that f gives that itself.
template <class Normalize, class T, class Arch, class F>
FOVEA_INLINE pack<T, Arch> weigh_pack(F const& f, T* at) {
    using vector = pack<T, Arch>;
    auto const score = vector::load(at);
    vector w(f(score));
    if constexpr (!requires { requires Normalize::excluded_vanish; })
        w = select(score == vector(excluded<T>), vector(T{0}), w);
    w.store(at);
    return w;
}

/// Sums, or maxima, that run side by side: a single one would wait for the latency of each addition.
inline constexpr int chains = 4;

/// Calls f(chain, address) for each of `packs` packs, one every `step` elements; every fourth is of the same chain,
/// those left the first.
template <class T, class F>
FOVEA_INLINE void over_chains(T* from, index_t packs, index_t step, F const& f) {
    for (; packs >= chains; packs -= chains, from += chains * step)
        unrolled<chains>([&](auto i) FOVEA_LAMBDA { f(i, from + i * step); });
    for (; packs > 0; --packs, from += step) f(std::integral_constant<int, 0>{}, from);
}

/// Whether any score of some packs is excluded: the least of them is then, since NaN is never less.
template <class T, class Arch>
FOVEA_INLINE bool any_excluded(T const* scores, index_t packs) {
    using vector = pack<T, Arch>;
    c_array<vector, chains> least;
    unrolled<chains>([&](auto i) FOVEA_LAMBDA { least[i] = vector(T{0}); });
    over_chains(scores, packs, vector::lanes,
                [&](auto i, T const* at) FOVEA_LAMBDA { least[i] = min(least[i], vector::load(at)); });
    return (min(min(least[0], least[1]), min(least[2], least[3])) == vector(excluded<T>)).any();
}

/// The maxima of each lane over `packs` packs, one every `step` elements: of every fourth pack, and then of all.
template <class T, class Arch>
FOVEA_INLINE void maxima_of_packs(T const* from, index_t packs, index_t step, c_array<pack<T, Arch>, chains>& maximum) {
    using vector = pack<T, Arch>;
    unrolled<chains>([&](auto i) FOVEA_LAMBDA { maximum[i] = vector(excluded<T>); });
    over_chains(from, packs, step,
                [&](auto i, T const* at) FOVEA_LAMBDA { maximum[i] = max(maximum[i], vector::load(at)); });
}
template <class T, class Arch>
FOVEA_INLINE pack<T, Arch> max_of_packs(T const* from, index_t packs, index_t step) {
    c_array<pack<T, Arch>, chains> maximum;
    maxima_of_packs<T, Arch>(from, packs, step, maximum);
    return max(max(maximum[0], maximum[1]), max(maximum[2], maximum[3]));
}
/// The same, and whether all numbers are finite.
template <class T, class Arch>
FOVEA_INLINE bool max_of_finite_packs(T const* from, index_t packs, index_t step, pack<T, Arch>& greatest) {
    using vector = pack<T, Arch>;
    c_array<vector, chains> maximum, probe;  // 0 times a number that is not finite is NaN, which stays
    unrolled<chains>([&](auto i) FOVEA_LAMBDA {
        maximum[i] = vector(excluded<T>);
        probe[i] = vector(T{0});
    });
    over_chains(from, packs, step, [&](auto i, T const* at) FOVEA_LAMBDA {
        auto const x = vector::load(at);
        maximum[i] = max(maximum[i], x);
        probe[i] = fma(x, vector(T{0}), probe[i]);
    });
    greatest = max(max(maximum[0], maximum[1]), max(maximum[2], maximum[3]));
    auto const all = (probe[0] + probe[1]) + (probe[2] + probe[3]);
    return !(!(all == vector(T{0}))).any();
}

/// Packs that are added in `chains` chains; these partial sums are added by a cascade_sum, for accuracy.
inline constexpr index_t packs_in_sequence = 128;

/// The sum of `of_packs(first, count)` over all packs.
template <index_t InSequence, class V, class OfPacks>
FOVEA_INLINE V sum_of_packs(index_t packs, OfPacks const& of_packs) {
    if (plan::compiled.side_by_side && packs <= InSequence) return of_packs(index_t{0}, packs);
    cascade_sum<V> sum;
    for (index_t p = 0; p < packs; p += InSequence) sum.add(of_packs(p, std::min(InSequence, packs - p)));
    return sum.total(V(0));
}

/// Packs of scores, at most packs_in_sequence, in one chain a quarter of that, become weights, f of themselves; returns
/// the sum of each lane.
template <class Normalize, class T, class Arch, class F>
FOVEA_INLINE pack<T, Arch> weigh_and_sum_some(F const& f, T* from, index_t packs, index_t step) {
    using vector = pack<T, Arch>;
    c_array<vector, chains> sum;
    unrolled<chains>([&](auto i) FOVEA_LAMBDA { sum[i] = vector(T{0}); });
    auto const weigh = [&](auto i, T* at) FOVEA_LAMBDA { sum[i] = sum[i] + weigh_pack<Normalize, T, Arch>(f, at); };
    if constexpr (plan::compiled.side_by_side) over_chains(from, packs, step, weigh);
    else
        for (index_t p = 0; p < packs; ++p) weigh(std::integral_constant<int, 0>{}, from + p * step);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Makes weights of any number of packs of scores, and returns their sum.
template <class Normalize, class T, class Arch, class F>
FOVEA_INLINE pack<T, Arch> weigh_and_sum(F const& f, T* from, index_t packs, index_t step) {
    constexpr index_t some = plan::compiled.side_by_side ? packs_in_sequence : packs_in_sequence / chains;
    return sum_of_packs<some, pack<T, Arch>>(packs, [&](index_t first, index_t n) FOVEA_LAMBDA {
        return weigh_and_sum_some<Normalize, T, Arch>(f, from + first * step, n, step);
    });
}

}  // namespace fovea::FOVEA_SET::kernel
