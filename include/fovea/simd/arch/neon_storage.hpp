// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How AArch64 widens and narrows elements.
#pragma once

#include <fovea/simd/storage.hpp>

#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>

namespace fovea::FOVEA_SET::kernel {

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
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        vst1_u16(&to->bits, vreinterpret_u16_f16(vcvt_f16_f32(a.value.data)));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
#endif
