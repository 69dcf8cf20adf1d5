// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AArch64: the vectors, elements widened and narrowed, transposition, lanes in reverse order, row sums.
#pragma once

#include <fovea/simd/integer_products.hpp>
#include <fovea/simd/storage.hpp>

#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>

namespace fovea::FOVEA_SET::kernel {

template <>
struct xsimd_arch<arch::neon> {
    using type = xsimd::neon64;
};

template <class T>
struct registers<T, arch::neon> : generic_registers<T, arch::neon> {
    using vector = typename generic_registers<T, arch::neon>::vector;
    using integers = typename generic_registers<T, arch::neon>::integers;
    static constexpr bool single = sizeof(T) == 4;

    /// One instruction; xsimd 8.1 multiplies and adds.
    FOVEA_INLINE static vector fma(vector const& a, vector const& b, vector const& c) {
        if constexpr (single) return vfmaq_f32(c.data, a.data, b.data);
        else return vfmaq_f64(c.data, a.data, b.data);
    }
    /// For floats, xsimd 8.1 takes an estimate.
    FOVEA_INLINE static vector divide(vector const& a, vector const& b) {
        if constexpr (single) return vdivq_f32(a.data, b.data);
        else return a / b;
    }
    /// b where either is NaN; the instructions would give NaN.
    FOVEA_INLINE static vector min(vector const& a, vector const& b) { return xsimd::select(a < b, a, b); }
    FOVEA_INLINE static vector max(vector const& a, vector const& b) { return xsimd::select(a > b, a, b); }
    FOVEA_INLINE static vector floor(vector const& a) {
        if constexpr (single) return vrndmq_f32(a.data);
        else return vrndmq_f64(a.data);
    }
    FOVEA_INLINE static vector to_real(integers const& a) { return xsimd::to_float(a); }
};

template <std::same_as<arch::neon> Arch>
struct widening<Arch> {
    using integers = typename registers<float, Arch>::integers;

    FOVEA_INLINE static integers widen(std::uint16_t const* from) {
        return integers(vreinterpretq_s32_u32(vmovl_u16(vld1_u16(from))));
    }
    FOVEA_INLINE static integers widen(std::int8_t const* from) {
        std::uint32_t bytes;
        std::memcpy(&bytes, from, sizeof bytes);
        auto const eight = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes)));
        return integers(vmovl_s16(vget_low_s16(eight)));
    }
    FOVEA_INLINE static void narrow(integers const& a, std::uint16_t* to) {
        vst1_u16(to, vmovn_u32(vreinterpretq_u32_s32(a.data)));
    }
};

template <widens Arch>
    requires std::same_as<Arch, arch::neon>
struct storage<float16, float, Arch> {
    using vector = pack<float, Arch>;

    FOVEA_INLINE static vector load(float16 const* from) {
        return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&from->bits)))};
    }
    FOVEA_INLINE static vector load_in_all_lanes(float16 x) {
        return {vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x.bits)))};
    }
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        vst1_u16(&to->bits, vreinterpret_u16_f16(vcvt_f16_f32(a.value.data)));
    }
};

template <class T>
struct lanes_of<T, arch::neon> : generic_lanes<T, arch::neon> {
    using vector = pack<T, arch::neon>;
    static constexpr bool single = sizeof(T) == 4;
    static constexpr index_t count = vector::lanes;

    FOVEA_INLINE static vector reversed(vector const& a) {
        if constexpr (single) {
            auto const swapped = vrev64q_f32(a.value.data);
            return {vextq_f32(swapped, swapped, 2)};
        } else {
            return {vextq_f64(a.value.data, a.value.data, 1)};
        }
    }
    /// Each step joins two vectors: sums of two neighbours, then of four.
    FOVEA_INLINE static vector sums_of_rows(c_array<vector, count>& rows) {
        if constexpr (single)
            return {vpaddq_f32(vpaddq_f32(rows[0].value.data, rows[1].value.data),
                               vpaddq_f32(rows[2].value.data, rows[3].value.data))};
        else return {vpaddq_f64(rows[0].value.data, rows[1].value.data)};
    }
    /// Pairs of rows exchange single elements, then, in float, pairs of pairs exchange two.
    FOVEA_INLINE static void transpose(c_array<vector, count>& rows) {
        if constexpr (single) {
            float64x2_t pairs[4];
            for (int i = 0; i < 4; i += 2) {
                pairs[i] = vreinterpretq_f64_f32(vtrn1q_f32(rows[i].value.data, rows[i + 1].value.data));
                pairs[i + 1] = vreinterpretq_f64_f32(vtrn2q_f32(rows[i].value.data, rows[i + 1].value.data));
            }
            for (int j = 0; j < 2; ++j) {
                rows[j] = vector(vreinterpretq_f32_f64(vtrn1q_f64(pairs[j], pairs[j + 2])));
                rows[j + 2] = vector(vreinterpretq_f32_f64(vtrn2q_f64(pairs[j], pairs[j + 2])));
            }
        } else {
            auto const upper = rows[0].value.data, lower = rows[1].value.data;
            rows[0] = vector(vtrn1q_f64(upper, lower));
            rows[1] = vector(vtrn2q_f64(upper, lower));
        }
    }
};

template <std::same_as<arch::neon> Arch>
struct integer_products<Arch> : word_columns<Arch> {
    using vector = pack<float, Arch>;
    static constexpr bool of_signed = true;

    FOVEA_INLINE static vector add_products(vector const& a, vector const& b, vector const& sum) {
        auto const first = vreinterpretq_s8_f32(a.value.data), second = vreinterpretq_s8_f32(b.value.data);
        auto const before = vreinterpretq_s32_f32(sum.value.data);
#if defined(__ARM_FEATURE_DOTPROD)
        return {vreinterpretq_f32_s32(vdotq_s32(before, first, second))};
#else
        auto const low = vpaddlq_s16(vmull_s8(vget_low_s8(first), vget_low_s8(second)));
        auto const high = vpaddlq_s16(vmull_high_s8(first, second));
        return {vreinterpretq_f32_s32(vaddq_s32(before, vpaddq_s32(low, high)))};
#endif
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
