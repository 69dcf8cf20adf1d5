// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value that expressions take in the fused loop: one number per key, a vector of them at a time.
#pragma once

#include <fovea/kernel/simd.hpp>

#include <algorithm>
#include <concepts>
#include <limits>

namespace fovea::kernel {

/// One truth per lane.
template <class T, class Arch>
struct lane_mask {
    typename simd<T, Arch>::mask value;

    FOVEA_INLINE friend lane_mask operator&&(lane_mask const& a, lane_mask const& b) { return {a.value & b.value}; }
    FOVEA_INLINE friend lane_mask operator||(lane_mask const& a, lane_mask const& b) { return {a.value | b.value}; }
    FOVEA_INLINE friend lane_mask operator!(lane_mask const& a) { return {~a.value}; }
    FOVEA_INLINE friend lane_mask operator&&(lane_mask const& a, bool b) { return b ? a : lane_mask::none(); }
    FOVEA_INLINE friend lane_mask operator&&(bool a, lane_mask const& b) { return b && a; }
    FOVEA_INLINE friend lane_mask operator||(lane_mask const& a, bool b) { return b ? lane_mask::all() : a; }
    FOVEA_INLINE friend lane_mask operator||(bool a, lane_mask const& b) { return b || a; }

    FOVEA_INLINE static lane_mask none() {
        typename simd<T, Arch>::vector const zero(T{0});
        return {zero < zero};
    }
    FOVEA_INLINE static lane_mask all() {
        typename simd<T, Arch>::vector const zero(T{0});
        return {zero == zero};
    }
    FOVEA_INLINE bool any() const { return simd<T, Arch>::any(value); }
};

/// A vector of T: float or double, or the integers of the same width.
template <class T, class Arch>
struct pack {
    using value_type = T;
    using architecture = Arch;
    using operations = simd<T, Arch>;
    static constexpr index_t lanes = Arch::vector_bytes / static_cast<index_t>(sizeof(T));

    typename operations::vector value;

    pack() = default;
    FOVEA_INLINE pack(typename operations::vector const& v) : value(v) {}
    template <class Number>
        requires std::is_arithmetic_v<Number>
    FOVEA_INLINE explicit pack(Number x) : value(static_cast<T>(x)) {}

    FOVEA_INLINE static pack load(T const* from) { return {operations::load(from)}; }
    FOVEA_INLINE void store(T* to) const { operations::store(to, value); }

    /// 0, 1, 2, ...
    FOVEA_INLINE static pack iota() {
        alignas(64) static constexpr auto counted = [] {
            std::array<T, static_cast<std::size_t>(lanes)> c{};
            for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<T>(i);
            return c;
        }();
        return load(counted.data());
    }
    /// The first `count` elements, zeros behind them; reads nothing past them.
    FOVEA_INLINE static pack load_partial(T const* from, index_t count) {
        alignas(64) std::array<T, static_cast<std::size_t>(lanes)> buffer{};
        for (index_t i = 0; i < std::min(count, lanes); ++i) buffer[static_cast<std::size_t>(i)] = from[i];
        return load(buffer.data());
    }
    /// Writes the first `count` elements and nothing past them.
    FOVEA_INLINE void store_partial(T* to, index_t count) const {
        auto const buffer = array();
        for (index_t i = 0; i < std::min(count, lanes); ++i) to[i] = buffer[static_cast<std::size_t>(i)];
    }
    FOVEA_INLINE auto array() const {
        alignas(64) std::array<T, static_cast<std::size_t>(lanes)> buffer;
        store(buffer.data());
        return buffer;
    }
};

template <class P>
inline constexpr bool is_pack = false;
template <class T, class Arch>
inline constexpr bool is_pack<pack<T, Arch>> = true;

/// A number beside a pack: it stands for a pack of itself.
template <class N>
concept number = std::is_arithmetic_v<N>;

// Arithmetic, between packs and between a pack and a number.
#define FOVEA_PACK_OPERATOR(symbol)                                                          \
    template <class T, class Arch>                                                           \
    FOVEA_INLINE pack<T, Arch> operator symbol(pack<T, Arch> const& a, pack<T, Arch> const& b) { \
        return {a.value symbol b.value};                                                     \
    }                                                                                        \
    template <class T, class Arch, number N>                                                 \
    FOVEA_INLINE pack<T, Arch> operator symbol(pack<T, Arch> const& a, N b) {                \
        return a symbol pack<T, Arch>(b);                                                    \
    }                                                                                        \
    template <class T, class Arch, number N>                                                 \
    FOVEA_INLINE pack<T, Arch> operator symbol(N a, pack<T, Arch> const& b) {                \
        return pack<T, Arch>(a) symbol b;                                                    \
    }
FOVEA_PACK_OPERATOR(+)
FOVEA_PACK_OPERATOR(-)
FOVEA_PACK_OPERATOR(*)
#undef FOVEA_PACK_OPERATOR

}  // namespace fovea::kernel
