// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of integers of 8 bits four at a time, summed exactly; simd/arch/ has those that an architecture does in a
// few instructions.
#pragma once

#include <fovea/simd/storage.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fovea::FOVEA_SET::kernel {

/// Packs of words: each 32-bit lane holds four neighbouring bytes, or a sum of 32 bits. The type is a pack of float,
/// since words are loaded, transposed and broadcast as floats are.
///
///     columns<Words>(row, to)    to[j]: bytes 4 j ... 4 j + 3 of what row(i) points to, in lane i; Words is 4 or 8
///     add_products(a, b, sum)    sum + a_0 b_0 + ... + a_3 b_3; b from -127 to 127, a from 0 to 255
///     of_signed                  a from -128 to 127 instead
template <class Arch>
struct integer_products;

/// The columns of rows of words.
template <class Arch>
struct word_columns {
    using vector = pack<float, Arch>;
    static constexpr int lanes = static_cast<int>(vector::lanes);

    template <int Words, class Row>
    FOVEA_INLINE static void columns(Row const& row, vector* to) {
        if constexpr (Words % lanes == 0) {
            unrolled<Words / lanes>([&](auto part) FOVEA_LAMBDA {
                c_array<vector, lanes> rows;
                unrolled<lanes>([&](auto i) FOVEA_LAMBDA {
                    c_array<float, lanes> words;  // bytes are aligned to nothing
                    std::memcpy(words, row(i) + part * lanes * 4, sizeof words);
                    rows[i] = vector::load(words);
                });
                lanes_of<float, Arch>::transpose(rows);
                unrolled<lanes>([&](auto j) FOVEA_LAMBDA { to[part * lanes + j] = rows[j]; });
            });
        } else {
            alignas(64) c_array_2d<float, Words, lanes> words;
            for (int i = 0; i < lanes; ++i)
                for (int j = 0; j < Words; ++j) std::memcpy(&words[j][i], row(i) + 4 * j, 4);
            for (int j = 0; j < Words; ++j) to[j] = vector::load(words[j]);
        }
    }
};

/// On arrays.
template <int Bytes, int Registers, bool Matrix_unit>
struct integer_products<arch::emulated<Bytes, Registers, Matrix_unit>>
    : word_columns<arch::emulated<Bytes, Registers, Matrix_unit>> {
    using vector = pack<float, arch::emulated<Bytes, Registers, Matrix_unit>>;
    static constexpr bool of_signed = false;

    static vector add_products(vector const& a, vector const& b, vector const& sum) {
        vector result;
        for (std::size_t i = 0; i < a.value.lane.size(); ++i) {
            auto const first = std::bit_cast<std::array<std::uint8_t, 4>>(a.value.lane[i]);
            auto const second = std::bit_cast<std::array<std::int8_t, 4>>(b.value.lane[i]);
            auto total = std::bit_cast<std::int32_t>(sum.value.lane[i]);
            for (std::size_t n = 0; n < 4; ++n) total += first[n] * second[n];
            result.value.lane[i] = std::bit_cast<float>(total);
        }
        return result;
    }
};

/// f of words, as integers of 32 bits.
template <class Arch, class F>
FOVEA_INLINE pack<float, Arch> on_words(pack<float, Arch> const& words, F const& f) {
    using bits = registers<float, Arch>;
    auto const integers = bits::as_integers(words.value);
    if constexpr (requires { integers & integers; }) return {bits::as_reals(f(integers))};
    else return {bits::as_reals(emulation::each(integers, f))};
}

/// The sum of two sums of 32 bits, as a number.
template <class Arch>
FOVEA_INLINE pack<float, Arch> numbers_of_sums(pack<float, Arch> const& a, pack<float, Arch> const& b) {
    using bits = registers<float, Arch>;
    return {bits::to_real(bits::as_integers(a.value) + bits::as_integers(b.value))};
}

}  // namespace fovea::FOVEA_SET::kernel
