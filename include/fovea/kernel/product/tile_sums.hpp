// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums in tiles of a matrix unit, up to two by two, and what is multiplied into them.
#pragma once

#include <fovea/simd/matrix_unit.hpp>
#include <fovea/simd/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// Calls f(m, n) for M by N constants.
template <int M, int N, class F>
FOVEA_INLINE void each_of(F const& f) {
    unrolled<M>([&](auto m) FOVEA_LAMBDA { unrolled<N>([&](auto n) FOVEA_LAMBDA { f(m, n); }); });
}

/// M by N tiles of sums, which are (16 M, width) in memory. Each tile of an operand is loaded once for two of them: the
/// left ones by the caller, to `left` and the tile after it.
template <class Unit, class T, int M, int N>
    requires(M <= 2 && N <= 2)
struct tile_sums {
    static constexpr int left = 4, right = 6;

    FOVEA_INLINE static void clear() {
        each_of<M, N>([](auto m, auto n) FOVEA_LAMBDA { Unit::template zero<sum(m(), n())>(); });
    }
    FOVEA_INLINE static void load(T const* from, index_t width) {
        each_of<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            Unit::template load<sum(m(), n())>(from + place(m(), n(), width), width * number_bytes);
        });
    }
    FOVEA_INLINE static void store(T* to, index_t width) {
        each_of<M, N>([&](auto m, auto n) FOVEA_LAMBDA {
            Unit::template store<sum(m(), n())>(to + place(m(), n(), width), width * number_bytes);
        });
    }
    /// The right tiles, of pairs of elements: (16, width).
    FOVEA_INLINE static void load_right(T const* pairs, index_t width) {
        unrolled<N>([&](auto n) FOVEA_LAMBDA {
            Unit::template load<right + n()>(pairs + place(0, n(), width), width * number_bytes);
        });
    }
    /// Adds the products of the left and the right tiles.
    FOVEA_INLINE static void multiply() {
        each_of<M, N>([](auto m, auto n)
                          FOVEA_LAMBDA { Unit::template add_products<sum(m(), n()), left + m(), right + n()>(); });
    }

private:
    static constexpr index_t number_bytes = sizeof(T);
    static constexpr int sum(int m, int n) { return 2 * m + n; }
    static constexpr index_t place(int m, int n, index_t width) {
        return m * tile_rows_of_unit * width + n * tile_row_bytes / number_bytes;
    }
};

}  // namespace fovea::FOVEA_SET::kernel
