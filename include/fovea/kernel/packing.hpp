// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing: copies operands, mapped by the factors of their side, into the order in which microkernels read them.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/prefetch.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Stores one row of features with a stride: to[f * stride] = scale * body(row[f]).
///
/// `body` is an expression of q or of k, `base` the environment of its other names; a unit body gives ones.
template <class T, class Arch, class Body, class Base, class Element>
FOVEA_INLINE void scatter_features(Body const& body, Base const& base, Element const* row, index_t features, T scale,
                                   T* to, index_t stride) {
    if constexpr (std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>) {
        for (index_t f = 0; f < features; ++f) to[f * stride] = scale * static_cast<T>(row[f]);
    } else {
        for_features<T, Arch>(body, base, row, row, features, [&](index_t offset, auto const& value) {
            auto const lane = lanes_of<T, Arch>::to_array(value);
            for (index_t i = 0; i < std::min(features - offset, pack<T, Arch>::lanes); ++i)
                to[(offset + i) * stride] = scale * lane[static_cast<std::size_t>(i)];
        });
    }
}

/// Prefetches the cache lines of `Count` rows in memory order, a few at a time.
template <class Element, index_t Count>
struct row_prefetch {
    c_array<Element const*, Count> rows;
    index_t bytes;  // of a row
    index_t row = 0, byte = 0;

    FOVEA_INLINE void prefetch(index_t lines) {
        for (; lines > 0 && row < Count; --lines) {
            __builtin_prefetch(reinterpret_cast<char const*>(rows[row]) + byte);
            byte += cache_line;
            if (byte < bytes) continue;
            byte = 0;
            ++row;
        }
    }
};

/// Transposes as many rows as a pack has lanes: to[c * stride + i] = scaled(column c of row i). `load(i, c, left)`
/// gives columns c, c + 1, ... of row i as a pack, of which `left` exist; `prefetch()` is called between loads and
/// shuffles.
template <class T, class Arch, class Load, class Prefetch, class Scaled>
FOVEA_INLINE void transpose_rows(Load const& load, Prefetch const& prefetch, Scaled const& scaled, index_t columns,
                                 T* to, index_t stride) {
    using vector = pack<T, Arch>;
    constexpr int lanes = static_cast<int>(vector::lanes);
    for (index_t c = 0; c < columns; c += lanes, to += lanes * stride) {
        index_t const left = columns - c;
        vector block[vector::lanes];
        if (left >= lanes)
            for (index_t i = 0; i < lanes; ++i) block[i] = load(i, c, vector::lanes);
        else
            for (index_t i = 0; i < lanes; ++i) block[i] = load(i, c, left);
        prefetch();
        lanes_of<T, Arch>::transpose(block);
        if (left >= lanes) unrolled<lanes>([&](index_t i) FOVEA_LAMBDA { scaled(block[i]).store(to + i * stride); });
        else
            unrolled<lanes>([&](index_t i) FOVEA_LAMBDA {
                if (i < left) scaled(block[i]).store(to + i * stride);
            });
    }
}

/// Calls f(first) for each pack of rows up to `padded_rows`. Where `stride` is no multiple of a pack, a store runs past
/// its column into the next: packs then go from last to first, so that the right elements are stored later.
template <index_t Lanes, class F>
FOVEA_INLINE void for_packs_of_rows(index_t padded_rows, index_t stride, F const& f) {
    index_t const packs = ceil_div(padded_rows, Lanes);
    bool const backwards = stride % Lanes != 0;
    for (index_t p = 0; p < packs; ++p) f((backwards ? packs - 1 - p : p) * Lanes);
}

/// In place of scales: all are 1.
struct unscaled {};

/// Where transposed rows are stored: first[f * stride + i] is feature f of row i. Rows from `count` to `padded_rows`
/// repeat the last one. Whole packs are stored, so memory for one more follows the last column. Rows up to `available`,
/// which may exceed `count`, are prefetched ahead of their use.
template <class T>
struct transpose_target {
    index_t count, padded_rows, available, features;
    T* first;
    index_t stride;
};

/// Stores scale(i) * body(row i)[f], transposed. `row(i)` points to a row, `base(i)` is the environment of the names in
/// the body.
template <class T, class Arch, class Body, class Rows, class Bases, class Scales>
FOVEA_INLINE void transpose_features(Body const& body, Rows const& row, Bases const& base, Scales const& scale,
                                     transpose_target<T> const& destination) {
    auto const [count, padded_rows, available, features, to, stride] = destination;
    using vector = pack<T, Arch>;
    using element = std::remove_cvref_t<decltype(*row(0))>;
    constexpr bool plain = std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>;
    constexpr bool scales = !std::is_same_v<Scales, unscaled>;
    constexpr index_t bytes = static_cast<index_t>(sizeof(element)),
                      lines = vector::lanes * vector::lanes * bytes / cache_line;
    for_packs_of_rows<vector::lanes>(padded_rows, stride, [&](index_t first) FOVEA_LAMBDA {
        auto const source = [&](index_t i) FOVEA_LAMBDA { return std::min(first + i, count - 1); };
        element const* from[vector::lanes];
        alignas(64) T factors[scales ? vector::lanes : 1];
        row_prefetch<element, vector::lanes> ahead{{}, features * bytes};
        if (first + 2 * vector::lanes >= available) ahead.row = vector::lanes;
        for (index_t i = 0; i < vector::lanes; ++i) {
            from[i] = row(source(i));
            if constexpr (scales) factors[i] = scale(source(i));
            if (ahead.row == 0) ahead.rows[i] = row(std::min(first + i + 2 * vector::lanes, available - 1));
        }
        auto const load = [&](index_t i, index_t f, index_t left) FOVEA_LAMBDA {
            if constexpr (plain) return load_as<T, Arch>(from[i] + f, left);
            else {
                feature_environment<T, Arch, element, element, std::remove_cvref_t<decltype(base(0))>> const here{
                    base(source(i)), from[i], from[i], f, left};
                return as_pack<T, Arch>(evaluate(body, here));
            }
        };
        auto const scaled = [&](vector const& column) FOVEA_LAMBDA {
            if constexpr (scales) return column * vector::load(factors);
            else return column;
        };
        transpose_rows<T, Arch>(
            load, [&]() FOVEA_LAMBDA { ahead.prefetch(lines); }, scaled, features, to + first, stride);
    });
}

/// True where all n elements of each of `count` rows are finite.
template <class T, class Arch, class Rows>
FOVEA_INLINE bool all_finite(Rows const& row, index_t count, index_t n) {
    using vector = pack<T, Arch>;
    vector const zero(T{0});
    vector probe = zero;  // 0 times a nonfinite number is NaN, which propagates
    for (index_t r = 0; r < count; ++r) {
        auto const* const from = row(r);
        using element = std::remove_cvref_t<decltype(*from)>;
        index_t i = 0;
        for (; i + vector::lanes <= n; i += vector::lanes)
            probe = fma(storage<element, T, Arch>::load(from + i), zero, probe);
        if (i < n) probe = fma(load_as<T, Arch>(from + i, n - i), zero, probe);
    }
    return lanes_of<T, Arch>::sum(probe) == T{0};
}

}  // namespace fovea::FOVEA_SET::kernel
