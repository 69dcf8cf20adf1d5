// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packing: operands in the order in which microkernels read them, multiplied by the factors of their side.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/simd/words.hpp>

namespace fovea::FOVEA_SET::kernel {

/// One row of features through a body, scattered with a stride: to[f * stride] = scale * body(row[f]).
///
/// `body` is an expression of q or of k; a unit body gives ones.
template <class T, class Arch, class Body, class Base, class Element>
FOVEA_INLINE void scatter_features(Body const& body, Base const& base, Element const* row, index_t features, T scale,
                                   T* to, index_t stride) {
    if constexpr (std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>) {
        for (index_t f = 0; f < features; ++f) to[f * stride] = scale * static_cast<T>(row[f]);
    } else {
        for_features<T, Arch>(body, base, row, row, features, [&](index_t offset, auto const& value) {
            auto const lane = lanes_of<T, Arch>::stored(value);
            for (index_t i = 0; i < std::min(features - offset, pack<T, Arch>::lanes); ++i)
                to[(offset + i) * stride] = scale * lane[static_cast<std::size_t>(i)];
        });
    }
}

/// Rows that are read later, in the order of memory, prefetched a few lines at a time.
template <class Element, index_t Count>
struct row_prefetch {
    line_of<Element const*, Count> rows;
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

/// As many rows as a pack has lanes, side by side: to[c * stride + i] = scaled(column c of row i). `load(i, c, left)`
/// are the columns from c on of row i as a pack, of which `left` are there; `prefetch` is called in between.
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

/// Calls f(first) for each pack of rows up to `room`. Where what comes behind a column is overwritten by the next pack
/// of rows, the last rows are the first.
template <index_t Lanes, class F>
FOVEA_INLINE void for_packs_of_rows(index_t room, index_t stride, F const& f) {
    index_t const packs = (room + Lanes - 1) / Lanes;
    bool const backwards = stride % Lanes != 0;
    for (index_t p = 0; p < packs; ++p) f((backwards ? packs - 1 - p : p) * Lanes);
}

/// Scales of rows that are 1.
struct unscaled {};

/// Where rows are stored side by side: to[f * stride + i] is feature f of row i < count, and of the last row again up
/// to `room`, rounded up to whole packs; behind the last column there is room for a pack. Rows are prefetched ahead of
/// their use as far as there are any, `present` in all.
template <class T>
struct transposed {
    index_t count, room, present, features;
    T* to;
    index_t stride;
};

/// Rows of features through a body, side by side: scale(i) * body(row i)[f]. `row(i)` is the pointer to a row,
/// `base(i)` what names mean there.
template <class T, class Arch, class Body, class Rows, class Bases, class Scales>
FOVEA_INLINE void transpose_features(Body const& body, Rows const& row, Bases const& base, Scales const& scale,
                                     transposed<T> const& side_by_side) {
    auto const [count, room, present, features, to, stride] = side_by_side;
    using vector = pack<T, Arch>;
    using element = std::remove_cvref_t<decltype(*row(0))>;
    constexpr bool plain = std::is_same_v<Body, q_t> || std::is_same_v<Body, k_t>;
    constexpr bool scales = !std::is_same_v<Scales, unscaled>;
    constexpr index_t bytes = static_cast<index_t>(sizeof(element)),
                      lines = vector::lanes * vector::lanes * bytes / cache_line;
    for_packs_of_rows<vector::lanes>(room, stride, [&](index_t first) FOVEA_LAMBDA {
        auto const source = [&](index_t i) FOVEA_LAMBDA { return std::min(first + i, count - 1); };
        element const* from[vector::lanes];
        alignas(64) T factors[scales ? vector::lanes : 1];
        row_prefetch<element, vector::lanes> later{{}, features * bytes};
        if (first + 2 * vector::lanes >= present) later.row = vector::lanes;
        for (index_t i = 0; i < vector::lanes; ++i) {
            from[i] = row(source(i));
            if constexpr (scales) factors[i] = scale(source(i));
            if (later.row == 0) later.rows[i] = row(std::min(first + i + 2 * vector::lanes, present - 1));
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
            load, [&]() FOVEA_LAMBDA { later.prefetch(lines); }, scaled, features, to + first, stride);
    });
}

/// The same of words: to[w * stride + i] = words of row(i)[w].
template <class Arch, class Rows>
FOVEA_INLINE void transpose_words(Rows const& row, transposed<float> const& side_by_side) {
    auto const [count, room, present, features, to, stride] = side_by_side;
    using vector = pack<float, Arch>;
    constexpr index_t lines = vector::lanes * vector::lanes * 4 / cache_line;
    for_packs_of_rows<vector::lanes>(room, stride, [&](index_t first) FOVEA_LAMBDA {
        bfloat16 const* from[vector::lanes];
        row_prefetch<bfloat16, vector::lanes> later{{}, features * 2};
        if (first + 2 * vector::lanes >= present) later.row = vector::lanes;
        for (index_t i = 0; i < vector::lanes; ++i) {
            from[i] = row(std::min(first + i, count - 1));
            if (later.row == 0) later.rows[i] = row(std::min(first + i + 2 * vector::lanes, present - 1));
        }
        // The last word of an odd number of features is half a word: elements are counted, not words.
        auto const load = [&](index_t i, index_t w, index_t)
                              FOVEA_LAMBDA { return load_words<Arch>(from[i] + 2 * w, features - 2 * w); };
        transpose_rows<float, Arch>(
            load, [&]() FOVEA_LAMBDA { later.prefetch(lines); },
            [](vector const& column) FOVEA_LAMBDA { return column; }, words_of(features), to + first, stride);
    });
}

/// True where n numbers and their products with others like them stay clear of the ends of the range of T:
/// what tanh_of_product needs of its exponentials.
template <class T>
bool within_exponential_range(T const* from, index_t n, index_t stride = 1) {
    constexpr T least = sizeof(T) == 4 ? T(1e-37) : T(1e-300);
    bool within = true;
    for (index_t i = 0; i < n; ++i) within = within && from[i * stride] >= least && from[i * stride] <= 1 / least;
    return within;
}

/// True where every one of n elements is finite in each of `count` rows.
template <class T, class Arch, class Rows>
FOVEA_INLINE bool all_finite(Rows const& row, index_t count, index_t n) {
    using vector = pack<T, Arch>;
    vector const zero(T{0});
    vector probe = zero;  // 0 times what is not finite is NaN, and stays
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
