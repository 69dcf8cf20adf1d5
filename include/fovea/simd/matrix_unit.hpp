// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix unit: products of tiles of bfloat16, summed in float; in plain C++ for the emulation of an architecture.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>
#include <fovea/simd/architecture.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// matrix_unit: eight tiles of 16 rows of 64 bytes, of the thread. C += A B adds products of pairs: an element of C is
/// a float, C[m][n] += A[m][2k] B[k][2n] + A[m][2k+1] B[k][2n+1], with A and B of bfloat16. Strides are in bytes.
///
///     available()            whether this process may use it
///     scope                  its configuration, for the time that it stands
///     zero<Tile>()           load<Tile>(from, stride)           store<Tile>(to, stride)
///     add_products<C, A, B>()
template <class Arch>
struct matrix_unit;

template <class U>
concept multiplies_tiles =
    std::default_initializable<typename U::scope> && requires(void const* from, void* to, index_t stride) {
        U::template zero<0>();
        U::template load<4>(from, stride);
        U::template store<0>(to, stride);
        U::template add_products<0, 4, 6>();
    };

/// The numbers of a tile.
inline constexpr index_t tile_rows_of_unit = 16, tile_row_bytes = 64, tiles_of_unit = 8;

/// AMX as it is defined: subnormal numbers count as 0 and become 0, sums are rounded to nearest, even and odd elements
/// are summed apart by fused multiply-adds, then added. Outside a scope of its thread products are NaN.
class emulated_matrix_unit {
    struct tiles {
        std::uint32_t at[tiles_of_unit][16][16] = {};
        int scopes = 0;
    };
    static tiles& here() {
        thread_local tiles of_thread;
        return of_thread;
    }

public:
    static bool available() { return true; }

    /// Scopes may be nested, as calls are; the first clears the tiles.
    class scope {
    public:
        scope() {
            if (here().scopes++ == 0) std::memset(here().at, 0, sizeof here().at);
        }
        ~scope() { --here().scopes; }
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;
    };

    template <int Tile>
    static void zero() {
        std::memset(here().at[Tile], 0, sizeof here().at[Tile]);
    }
    template <int Tile>
    static void load(void const* from, index_t stride) {
        for (index_t r = 0; r < tile_rows_of_unit; ++r)
            std::memcpy(here().at[Tile][r], static_cast<char const*>(from) + r * stride, tile_row_bytes);
    }
    template <int Tile>
    static void store(void* to, index_t stride) {
        for (index_t r = 0; r < tile_rows_of_unit; ++r)
            std::memcpy(static_cast<char*>(to) + r * stride, here().at[Tile][r], tile_row_bytes);
    }
    template <int C, int A, int B>
    static void add_products() {
        auto& all = here();
        for (index_t m = 0; m < 16; ++m) {
            float even[16] = {}, odd[16] = {};
            for (index_t k = 0; k < 16; ++k) {
                auto const a = all.at[A][m][k];
                for (index_t n = 0; n < 16; ++n) {
                    auto const b = all.at[B][k][n];
                    even[n] = fused(a << 16, b << 16, even[n]);
                    odd[n] = fused(a & 0xffff0000U, b & 0xffff0000U, odd[n]);
                }
            }
            for (index_t n = 0; n < 16; ++n) {
                auto& c = all.at[C][m][n];
                float const before = flushed(std::bit_cast<float>(c)), sum = flushed(even[n] + odd[n]);
                c = std::bit_cast<std::uint32_t>(all.scopes > 0 ? flushed(before + sum)
                                                                : std::numeric_limits<float>::quiet_NaN());
            }
        }
    }

private:
    static constexpr float least = std::numeric_limits<float>::min();
    static float flushed(float x) { return std::abs(x) < least ? std::copysign(0.0f, x) : x; }
    /// a b + c of the numbers of these bits. What is less than the least normal number is 0 even if it would be rounded
    /// to that one, which the same sum times a power of two shows.
    static float fused(std::uint32_t a, std::uint32_t b, float c) {
        float const x = flushed(std::bit_cast<float>(a)), y = flushed(std::bit_cast<float>(b)), sum = std::fma(x, y, c);
        if (std::abs(sum) > least || sum == 0) return sum;
        bool const x_is_less = std::abs(x) < std::abs(y);
        float const scaled = std::fma((x_is_less ? x : y) * 0x1p60f, x_is_less ? y : x, c * 0x1p60f);
        return std::abs(scaled) < least * 0x1p60f ? std::copysign(0.0f, sum) : sum;
    }
};

template <>
struct matrix_unit<arch::emulated<64, 32, true>> : emulated_matrix_unit {};

}  // namespace fovea::FOVEA_SET::kernel

#include <fovea/simd/arch/amx.hpp>
