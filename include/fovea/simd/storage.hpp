// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads and stores elements of any number type, and loads those of blocks, as packs of T, the type of the arithmetic;
// simd/arch/ has the conversions that an architecture does in a few instructions.
#pragma once

#include <fovea/core/bits.hpp>
#include <fovea/core/blocks.hpp>
#include <fovea/core/fp8.hpp>
#include <fovea/core/half.hpp>
#include <fovea/simd/lanes.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET::kernel {

/// load and store convert a pack of elements: here lane by lane. A specialization may also load and store the first n
/// elements alone.
template <class Element, class T, class Arch>
struct storage {
    using vector = pack<T, Arch>;
    static constexpr auto count = static_cast<std::size_t>(vector::lanes);

    FOVEA_INLINE static vector load(Element const* from) {
        alignas(64) std::array<T, count> lane;
        for (std::size_t i = 0; i < count; ++i) lane[i] = static_cast<T>(from[i]);
        return vector::load(lane.data());
    }
    FOVEA_INLINE static void store(vector const& a, Element* to) {
        auto const lane = lanes_of<T, Arch>::to_array(a);
        for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Element>(lane[i]);
    }
};

template <class T, class Arch>
struct storage<T, T, Arch> : lanes_of<T, Arch> {
    using lanes_of<T, Arch>::load;
    using lanes_of<T, Arch>::store;
    FOVEA_INLINE static pack<T, Arch> load(T const* from) { return pack<T, Arch>::load(from); }
    FOVEA_INLINE static void store(pack<T, Arch> const& a, T* to) { a.store(to); }
};

/// Conversions between a pack of 32-bit integers and 16-bit or 8-bit ones, where an architecture has them:
///
///     widen(std::uint16_t const*), widen(std::int8_t const*)    to integers
///     narrow(integers, std::uint16_t*)                          of integers from -2^15 to 2^15 - 1
///
/// and, where it has masked ones, widen(from, n) and narrow(integers, to, n) of the first n, zeros after them.
template <class Arch>
struct widening;

template <class Arch>
concept widens = requires(std::uint16_t const* from) { widening<Arch>::widen(from); };
template <class Arch>
concept widens_masked = requires(std::uint16_t const* from, index_t n) { widening<Arch>::widen(from, n); };

/// bfloat16, the upper half of a float: stored, it is rounded to nearest, ties to even; a NaN becomes quiet and keeps
/// its upper bits.
template <widens Arch>
struct storage<bfloat16, float, Arch> {
    using bits = registers<float, Arch>;
    using integers = typename bits::integers;

    FOVEA_INLINE static pack<float, Arch> load(bfloat16 const* from) {
        return {bits::as_reals(bits::template shift_left<16>(widening<Arch>::widen(&from->bits)))};
    }
    FOVEA_INLINE static pack<float, Arch> load(bfloat16 const* from, index_t n)
        requires widens_masked<Arch>
    {
        return {bits::as_reals(bits::template shift_left<16>(widening<Arch>::widen(&from->bits, n)))};
    }
    FOVEA_INLINE static void store(pack<float, Arch> const& a, bfloat16* to) {
        widening<Arch>::narrow(rounded_to_bfloat16(a), &to->bits);
    }
    FOVEA_INLINE static void store(pack<float, Arch> const& a, bfloat16* to, index_t n)
        requires widens_masked<Arch>
    {
        widening<Arch>::narrow(rounded_to_bfloat16(a), &to->bits, n);
    }

private:
    FOVEA_INLINE static integers rounded_to_bfloat16(pack<float, Arch> const& a) {
        auto const all = bits::as_integers(a.value);
        auto const upper = bits::template shift_right<16>(all);
        auto const rounded = bits::template shift_right<16>(all + integers(0x7fff) + (upper & integers(1)));
        auto const quiet = upper | integers(0x40);
        auto const chosen = bits::select(a.value == a.value, bits::as_reals(rounded), bits::as_reals(quiet));
        return bits::as_integers(chosen);
    }
};

/// The numbers of float16 from their bits. Adding to the exponent corrects its bias; subnormal numbers are integers
/// times 2^-24. No number that is computed with is subnormal as a float, so that none is lost where those count as 0.
template <class Arch>
FOVEA_INLINE pack<float, Arch> numbers_of_halves(typename registers<float, Arch>::integers const& half) {
    using vector = pack<float, Arch>;
    using bits = registers<float, Arch>;
    using integers = typename bits::integers;
    auto const size = half & integers(0x7fff), magnitude = bits::template shift_left<13>(size);
    auto const sign = bits::template shift_left<16>(half & integers(0x8000));
    vector const normal(bits::as_reals(magnitude + integers(0x38000000))),
        infinite(bits::as_reals(magnitude | integers(0x7f800000)));
    vector const subnormal(vector(bits::to_real(size)) * vector(0x1p-24f));
    auto const finite = select(normal < vector(0x1p-14f), subnormal, normal);
    auto const absolute = select(normal < vector(65536), finite, infinite);
    return {bits::as_reals(bits::as_integers(absolute.value) | sign)};
}
template <widens Arch>
struct storage<float16, float, Arch> {
    using vector = pack<float, Arch>;

    FOVEA_INLINE static vector load(float16 const* from) {
        return numbers_of_halves<Arch>(widening<Arch>::widen(&from->bits));
    }
    FOVEA_INLINE static void store(vector const& a, float16* to) {
        auto const lane = lanes_of<float, Arch>::to_array(a);
        for (std::size_t i = 0; i < lane.size(); ++i) to[i] = float16(lane[i]);
    }
};

/// Stored lane by lane.
template <class Element, class Arch>
struct fp8_storage {
    FOVEA_INLINE static typename registers<float, Arch>::integers bits_of(Element const* from) {
        return widening<Arch>::widen(reinterpret_cast<std::int8_t const*>(from));
    }
    FOVEA_INLINE static void store(pack<float, Arch> const& a, Element* to) {
        auto const lane = lanes_of<float, Arch>::to_array(a);
        for (std::size_t i = 0; i < lane.size(); ++i) to[i] = Element(lane[i]);
    }
};
template <widens Arch>
struct storage<fp8_e5m2, float, Arch> : fp8_storage<fp8_e5m2, Arch> {
    FOVEA_INLINE static pack<float, Arch> load(fp8_e5m2 const* from) {
        return numbers_of_halves<Arch>(registers<float, Arch>::template shift_left<8>(storage::bits_of(from)));
    }
};
template <widens Arch>
struct storage<fp8_e4m3, float, Arch> : fp8_storage<fp8_e4m3, Arch> {
    FOVEA_INLINE static pack<float, Arch> load(fp8_e4m3 const* from) {
        using vector = pack<float, Arch>;
        using bits = registers<float, Arch>;
        using integers = typename bits::integers;
        auto const all = storage::bits_of(from), size = all & integers(0x7f);
        auto const sign = bits::template shift_left<24>(all & integers(0x80));
        vector const normal(bits::as_reals(bits::template shift_left<20>(size) + integers(0x3c000000)));
        vector const subnormal(vector(bits::to_real(size)) * vector(0x1p-9f));
        auto const finite = select(normal < vector(0x1p-6f), subnormal, normal);
        auto const absolute = select(normal < vector(480), finite, vector(std::numeric_limits<float>::quiet_NaN()));
        return {bits::as_reals(bits::as_integers(absolute.value) | sign)};
    }
};

template <widens Arch>
struct storage<std::int8_t, float, Arch> {
    FOVEA_INLINE static pack<float, Arch> load(std::int8_t const* from) {
        return {registers<float, Arch>::to_real(widening<Arch>::widen(from))};
    }
    FOVEA_INLINE static void store(pack<float, Arch> const& a, std::int8_t* to) {
        auto const lane = lanes_of<float, Arch>::to_array(a);
        for (std::size_t i = 0; i < lane.size(); ++i) to[i] = static_cast<std::int8_t>(lane[i]);
    }
};

template <widens Arch>
struct storage<std::uint8_t, float, Arch> {
    FOVEA_INLINE static pack<float, Arch> load(std::uint8_t const* from) {
        using bits = registers<float, Arch>;
        auto const integers = widening<Arch>::widen(reinterpret_cast<std::int8_t const*>(from));
        return {bits::to_real(integers & typename bits::integers(0xff))};
    }
    FOVEA_INLINE static void store(pack<float, Arch> const& a, std::uint8_t* to) {
        auto const lane = lanes_of<float, Arch>::to_array(a);
        for (std::size_t i = 0; i < lane.size(); ++i) to[i] = static_cast<std::uint8_t>(lane[i]);
    }
};

/// Only loaded: 1 or 0.
template <widens Arch>
struct storage<bool, float, Arch> {
    FOVEA_INLINE static pack<float, Arch> load(bool const* from) {
        return storage<std::int8_t, float, Arch>::load(reinterpret_cast<std::int8_t const*>(from));
    }
};

/// The first n elements of any number type as a pack, zeros after them; reads nothing past them.
template <class T, class Arch, class From>
FOVEA_INLINE pack<T, Arch> load_as(From const* from, index_t n) {
    using element = storage<From, T, Arch>;
    constexpr index_t lanes = pack<T, Arch>::lanes;
    if (n >= lanes) return element::load(from);
    if constexpr (requires { element::load(from, n); }) {
        return element::load(from, n);
    } else {
        alignas(64) std::array<From, static_cast<std::size_t>(lanes)> elements{};
        std::copy_n(from, n, elements.begin());
        return element::load(elements.data());
    }
}

/// The first n of some conditions as a mask, false after them; reads nothing past them.
template <class T, class Arch>
FOVEA_INLINE lane_mask<T, Arch> load_mask(bool const* from, index_t n) {
    return pack<T, Arch>(T{0}) < load_as<T, Arch>(from, n);
}
template <class T, class Arch>
FOVEA_INLINE lane_mask<T, Arch> load_mask(bit_pointer const& from, index_t n) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    return lanes_of<T, Arch>::mask_of_bits(n >= lanes ? from.template first<lanes>() : from.first(n));
}

/// Converts a row of n elements of any number type to T, padded with zeros to whole packs.
template <class T, class Arch, class From>
FOVEA_INLINE void convert_row(From const* from, index_t n, T* to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    index_t const full = n - n % lanes;
    for (index_t c = 0; c < full; c += lanes) storage<From, T, Arch>::load(from + c).store(to + c);
    if (full < n) load_as<T, Arch>(from + full, n - full).store(to + full);
}

/// Stores the first n lanes as elements of any number type, and nothing past them.
template <class T, class Arch, class To>
FOVEA_INLINE void store_as(pack<T, Arch> const& a, To* to, index_t n) {
    using element = storage<To, T, Arch>;
    constexpr index_t lanes = pack<T, Arch>::lanes;
    if (n >= lanes) return element::store(a, to);
    if constexpr (requires { element::store(a, to, n); }) {
        element::store(a, to, n);
    } else {
        alignas(64) std::array<To, static_cast<std::size_t>(lanes)> elements;
        element::store(a, elements.data());
        std::copy_n(elements.begin(), n, to);
    }
}

/// block_storage: numbers of blocks as packs.
///
///     load(row, feature, left)    a pack of a row from a feature on, a multiple of the lanes; so many are left
///     packs, load_all(block, to)  all packs of a block: where a specialization has them
///
/// Here one by one. A specialization is of blocks that hold whole packs, so that `left` says nothing new.
template <class Block, class T, class Arch>
struct block_storage {
    FOVEA_INLINE static pack<T, Arch> load(Block const* row, index_t feature, index_t left = pack<T, Arch>::lanes) {
        alignas(64) std::array<T, static_cast<std::size_t>(pack<T, Arch>::lanes)> lane{};
        for (index_t i = 0; i < std::min(left, pack<T, Arch>::lanes); ++i)
            lane[static_cast<std::size_t>(i)] =
                static_cast<T>(row[(feature + i) / Block::size].number((feature + i) % Block::size));
        return pack<T, Arch>::load(lane.data());
    }
};

/// The blocks of which all packs are loaded at once, since these share a scale.
template <class Block, class T, class Arch>
concept loads_whole_blocks = requires { block_storage<Block, T, Arch>::packs; };

/// Decodes a row of n blocks.
template <class T, class Arch, class Block>
    requires loads_whole_blocks<Block, T, Arch>
FOVEA_INLINE void convert_row(Block const* from, index_t n, T* to) {
    using vector = pack<T, Arch>;
    constexpr int packs = block_storage<Block, T, Arch>::packs;
    for (index_t b = 0; b < n; ++b) {
        c_array<vector, packs> numbers;
        block_storage<Block, T, Arch>::load_all(from[b], &numbers[0]);
        unrolled<packs>([&](auto p) FOVEA_LAMBDA { numbers[p].store(to + b * Block::size + p * vector::lanes); });
    }
}

/// A number of any type in all lanes.
template <class T, class Arch, class From>
FOVEA_INLINE pack<T, Arch> in_all_lanes(From const& from) {
    using element = storage<From, T, Arch>;
    if constexpr (requires { element::load_in_all_lanes(from); }) return element::load_in_all_lanes(from);
    else return pack<T, Arch>(static_cast<T>(from));
}

template <widens Arch>
struct block_storage<q8_0, float, Arch> {
    using vector = pack<float, Arch>;
    static constexpr int packs = q8_0::size / vector::lanes;

    FOVEA_INLINE static vector load(q8_0 const* row, index_t feature) {
        auto const& block = row[feature / q8_0::size];
        return in_all_lanes<float, Arch>(block.scale) * integers(block, feature % q8_0::size);
    }
    FOVEA_INLINE static void load_all(q8_0 const& block, vector* to) {
        auto const scale = in_all_lanes<float, Arch>(block.scale);
        unrolled<packs>([&](auto p) FOVEA_LAMBDA { to[p] = scale * integers(block, p * vector::lanes); });
    }

private:
    FOVEA_INLINE static vector integers(q8_0 const& block, index_t from) {
        return storage<std::int8_t, float, Arch>::load(block.integers + from);
    }
};

/// Blocks of 32 integers of 4 bits, of which each stands for one of 16 numbers: `numbers(block)`, as a function of it.
template <class Block, class Arch, class Numbers>
struct quarter_storage {
    using vector = pack<float, Arch>;
    using bits = registers<float, Arch>;
    static constexpr int packs = Block::size / vector::lanes, half = packs / 2;

    FOVEA_INLINE static vector load(Block const* row, index_t feature) {
        auto const& block = row[feature / Block::size];
        index_t const from = feature % Block::size;
        auto const pair = pairs(block, from % (Block::size / 2));
        return Numbers(block)(from < Block::size / 2 ? pair : bits::template shift_right<4>(pair));
    }
    FOVEA_INLINE static void load_all(Block const& block, vector* to) {
        Numbers const numbers(block);
        unrolled<half>([&](auto p) FOVEA_LAMBDA {
            auto const pair = pairs(block, p * vector::lanes);
            to[p] = numbers(pair);
            to[half + p] = numbers(bits::template shift_right<4>(pair));
        });
    }

private:
    FOVEA_INLINE static auto pairs(Block const& block, index_t from) {
        return widening<Arch>::widen(reinterpret_cast<std::int8_t const*>(block.pairs + from));
    }
};

/// least + scale * the lower 4 bits of integers: one of 16 numbers in a register where an architecture finds it there.
template <class Arch>
class scaled_quarters {
    using vector = pack<float, Arch>;
    using bits = registers<float, Arch>;
    using integers = typename bits::integers;
    static constexpr bool in_register = requires(vector const& v, integers const& i) {
        requires vector::lanes == 16;
        lanes_of<float, Arch>::chosen(v, i);
    };

public:
    FOVEA_INLINE scaled_quarters(vector const& scale, vector const& least) : scale_(scale), least_(least) {
        if constexpr (in_register) numbers_ = fma(scale, vector::iota(), least);
    }
    FOVEA_INLINE vector operator()(integers const& all) const {
        if constexpr (in_register) return lanes_of<float, Arch>::chosen(numbers_, all);
        else return fma(scale_, vector(bits::to_real(all & integers(15))), least_);
    }

private:
    vector scale_, least_, numbers_{};
};
template <class Arch>
struct numbers_of_q4_0 : scaled_quarters<Arch> {
    FOVEA_INLINE explicit numbers_of_q4_0(q4_0 const& block)
        : numbers_of_q4_0(in_all_lanes<float, Arch>(block.scale)) {}

private:
    FOVEA_INLINE explicit numbers_of_q4_0(pack<float, Arch> const& scale)
        : scaled_quarters<Arch>(scale, scale * pack<float, Arch>(-8.0f)) {}
};
template <class Arch>
struct numbers_of_q4_1 : scaled_quarters<Arch> {
    FOVEA_INLINE explicit numbers_of_q4_1(q4_1 const& block)
        : scaled_quarters<Arch>(in_all_lanes<float, Arch>(block.scale), in_all_lanes<float, Arch>(block.least)) {}
};

template <widens Arch>
struct block_storage<q4_0, float, Arch> : quarter_storage<q4_0, Arch, numbers_of_q4_0<Arch>> {};
template <widens Arch>
struct block_storage<q4_1, float, Arch> : quarter_storage<q4_1, Arch, numbers_of_q4_1<Arch>> {};

}  // namespace fovea::FOVEA_SET::kernel
