// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The matrix unit of AMX, by instructions that need no flag of the compiler, and whether it may be used here.
#pragma once

#include <fovea/simd/arch/processor.hpp>
#include <fovea/simd/matrix_unit.hpp>

#include <cstddef>

#if defined(__x86_64__)

namespace fovea::FOVEA_SET::kernel {

/// The operand of LDTILECFG: palette 1, and rows and bytes of a row of each tile.
struct alignas(64) tile_configuration {
    std::uint8_t palette = 0, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};

    friend bool operator==(tile_configuration const&, tile_configuration const&) = default;

    /// Eight tiles of 16 rows of 64 bytes.
    static constexpr tile_configuration whole() {
        tile_configuration all;
        all.palette = 1;
        for (index_t t = 0; t < tiles_of_unit; ++t) {
            all.row_bytes[t] = static_cast<std::uint16_t>(tile_row_bytes);
            all.rows[t] = static_cast<std::uint8_t>(tile_rows_of_unit);
        }
        return all;
    }
};
static_assert(sizeof(tile_configuration) == 64);

/// Whether this process may use the unit: the processor has its tiles and products, with the sizes above, the operating
/// system keeps its registers, and Linux has permitted them, which is asked once and holds for all threads.
class amx_permission {
public:
    static bool granted() {
        static bool const known = processor_has_it() && system_keeps_it() && system_permits_it();
        return known;
    }

private:
    static bool processor_has_it() {
        cpuid const features(7, 0), palettes(0x1d, 0), palette(0x1d, 1);
        bool const products = features.known && (features.d >> 22 & 1U) != 0 && (features.d >> 24 & 1U) != 0;
        // Some virtual machines have the features, and no palette.
        return products && palettes.known && palettes.a >= 1 && index_t{palette.b >> 16} >= tiles_of_unit
            && index_t{palette.b & 0xffffU} >= tile_row_bytes && index_t{palette.c & 0xffffU} >= tile_rows_of_unit;
    }
    static bool system_keeps_it() {
        cpuid const features(1, 0);
        if (!features.known || (features.c >> 27 & 1U) == 0) return false;
        unsigned low = 0, high = 0;
        asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        constexpr unsigned tiles = 3U << 17;  // TILECFG and TILEDATA
        return (low & tiles) == tiles;
    }
    static bool system_permits_it() {
#if defined(__linux__)
        constexpr long arch_prctl = 158, request_permission = 0x1023, tile_data = 18;
        long result = arch_prctl;
        asm volatile("syscall" : "+a"(result) : "D"(request_permission), "S"(tile_data) : "rcx", "r11", "memory");
        return result == 0;
#else
        return false;
#endif
    }
};

template <std::derived_from<arch::avx512_amx> Arch>
struct matrix_unit<Arch> {
    static bool available() { return amx_permission::granted(); }

    /// The configuration is the thread's and anybody's: it is looked at where a task begins. Whatever stood before
    /// stands again after it, without the contents of its tiles; where nothing did, the registers are released.
    class scope {
    public:
        scope() {
            asm volatile("sttilecfg\t%0" : "=m"(before_));
            if (before_ != whole) configure(whole);
        }
        ~scope() {
            if (before_.palette == 0) asm volatile("tilerelease");
            else if (before_ != whole) configure(before_);
        }
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;

    private:
        static constexpr tile_configuration whole = tile_configuration::whole();
        static void configure(tile_configuration const& c) { asm volatile("ldtilecfg\t%0" ::"m"(c)); }
        tile_configuration before_;
    };

    template <int Tile>
    FOVEA_INLINE static void zero() {
        asm volatile("{tilezero\t%%tmm%c0|tilezero\ttmm%c0}" ::"i"(Tile));
    }
    template <int Tile>
    FOVEA_INLINE static void load(void const* from, index_t stride) {
        asm volatile("{tileloadd\t(%0,%1,1), %%tmm%c2|tileloadd\ttmm%c2, [%0+%1*1]}" ::"r"(from), "r"(stride), "i"(Tile)
                     : "memory");
    }
    template <int Tile>
    FOVEA_INLINE static void store(void* to, index_t stride) {
        asm volatile("{tilestored\t%%tmm%c2, (%0,%1,1)|tilestored\t[%0+%1*1], tmm%c2}" ::"r"(to), "r"(stride), "i"(Tile)
                     : "memory");
    }
    template <int C, int A, int B>
    FOVEA_INLINE static void add_products() {
        asm volatile("{tdpbf16ps\t%%tmm%c2, %%tmm%c1, %%tmm%c0|tdpbf16ps\ttmm%c0, tmm%c1, tmm%c2}" ::"i"(C), "i"(A),
                     "i"(B));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
