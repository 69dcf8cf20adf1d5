// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a running state in registers, a panel of columns at a time, and sums over their columns.
#pragma once

#include <fovea/simd/lanes.hpp>
#include <fovea/simd/storage.hpp>
#include <fovea/simd/unrolled.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// A state, or its gradient: (features, columns), of which the columns fill vectors.
struct state_shape {
    index_t features, columns;
    index_t size() const { return features * columns; }
};

/// A sum over the columns for each row of a state: a vector, whose lanes are joined after all panels.
template <class T, class Arch>
struct sums_of_rows {
    using vector = pack<T, Arch>;
    static constexpr index_t width = vector::lanes;
    T* all;  // (features, width), of features rounded up to width

    static index_t numbers(index_t features) { return round_up(features, width) * width; }
    FOVEA_INLINE void add(index_t f, vector const& x, bool first) const {
        (first ? x : vector::load(all + f * width) + x).store(all + f * width);
    }
    /// to[f] = x the sum of row f, and what it was before with `adds`.
    void write(index_t features, T* to) const {
        for (index_t f = 0; f < features; f += width) {
            c_array<vector, static_cast<int>(width)> rows;
            for (index_t i = 0; i < width; ++i) rows[i] = vector::load(all + (f + i) * width);
            store_as<T, Arch>(lanes_of<T, Arch>::row_sums(rows), to + f, features - f);
        }
    }
};

namespace detail {
/// Calls f(constant, column) for panels of 4, 2 or 1 vectors of columns.
template <class T, class Arch, class F>
FOVEA_INLINE void for_panels(index_t columns, F const& f) {
    constexpr index_t width = pack<T, Arch>::lanes;
    index_t c = 0;
    for (; c + 4 * width <= columns; c += 4 * width) f(std::integral_constant<int, 4>(), c);
    if (c + 2 * width <= columns) f(std::integral_constant<int, 2>(), std::exchange(c, c + 2 * width));
    if (c < columns) f(std::integral_constant<int, 1>(), c);
}

/// Some vectors of a row.
template <int Vectors, class T, class Arch>
struct row_part {
    using vector = pack<T, Arch>;
    c_array<vector, Vectors> all;

    FOVEA_INLINE static row_part load(T const* from) {
        row_part row;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { row.all[v] = vector::load(from + v * vector::lanes); });
        return row;
    }
    FOVEA_INLINE void store(T* to) const {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v].store(to + v * vector::lanes); });
    }
    /// += x of, for a number x in all lanes.
    FOVEA_INLINE void add(vector const& x, row_part const& of) {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v] = fma(x, of.all[v], all[v]); });
    }
    FOVEA_INLINE void scale(vector const& x) {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v] = all[v] * x; });
    }
    /// The products with another row, added up to one vector.
    FOVEA_INLINE vector times(row_part const& b) const {
        auto sum = all[0] * b.all[0];
        unrolled<Vectors - 1>([&](auto v) FOVEA_LAMBDA { sum = fma(all[v + 1], b.all[v + 1], sum); });
        return sum;
    }
};
}  // namespace detail

}  // namespace fovea::FOVEA_SET::kernel
