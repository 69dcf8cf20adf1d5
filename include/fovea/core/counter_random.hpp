// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace fovea::FOVEA_SET {

/// threefry: 64 random bits from a counter and a key, the same wherever and in whatever order they are asked for.
///
/// Threefry-2x32 with 20 rounds. Source: Salmon et al. 2011, section 4.2 and table 2.
constexpr std::array<std::uint32_t, 2> threefry(std::array<std::uint32_t, 2> counter,
                                                std::array<std::uint32_t, 2> key) {
    constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
    std::uint32_t const keys[] = {key[0], key[1], 0x1BD11BDAU ^ key[0] ^ key[1]};
    auto [x, y] = counter;
    x += keys[0];
    y += keys[1];
    for (unsigned round = 0; round < 20; ++round) {
        x += y;
        y = std::rotl(y, rotations[round % 8]) ^ x;
        if (unsigned const block = round / 4 + 1; round % 4 == 3) {
            x += keys[block % 3];
            y += keys[(block + 1) % 3] + block;
        }
    }
    return {x, y};
}

/// A number between 0 and 1, neither of them, for one pair of one head: a multiple of 2^-23 plus 2^-24, so that it is
/// the same in float and double.
constexpr double uniform_of_pair(index_t seed, index_t batch, index_t head, index_t query, index_t key) {
    auto const low = [](index_t x) { return static_cast<std::uint32_t>(x); };
    auto const bits = threefry({low(query), low(key)}, {low(seed), (low(batch) << 16) + low(head)})[0];
    return (static_cast<double>(bits >> 9) + 0.5) * 0x1p-23;
}

}  // namespace fovea::FOVEA_SET
