// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace fuzz {

using fovea::index_t;

/// The bytes of one input, read as decisions; behind the last one they are 0, which always means the usual thing.
class bytes {
public:
    explicit bytes(std::span<std::uint8_t const> input) : left_(input) {}

    std::uint8_t byte() {
        if (left_.empty()) return 0;
        auto const next = left_.front();
        left_ = left_.subspan(1);
        return next;
    }
    bool done() const { return left_.empty(); }
    std::span<std::uint8_t const> rest() const { return left_; }

    /// 0 ... count - 1.
    int below(int count) { return byte() % count; }
    bool one_in(int count) { return byte() % count == count - 1; }
    index_t between(index_t low, index_t high) { return low + byte() % (high - low + 1); }

    std::uint32_t word() {
        std::uint32_t all = 0;
        for (int i = 0; i < 4; ++i) all = all << 8 | byte();
        return all;
    }
    std::uint64_t long_word() { return static_cast<std::uint64_t>(word()) << 32 | word(); }

    /// An integer: mostly a small one, sometimes one at an edge of some type, sometimes any.
    index_t integer() {
        constexpr auto most = std::numeric_limits<index_t>::max(), least = std::numeric_limits<index_t>::min();
        constexpr index_t one = 1;
        constexpr std::array edges{most,      least,          most / 2,  least / 2, one << 61,        -(one << 61),
                                   one << 40, one << 32,      one << 31, -one,      (one << 31) - 1,  -(one << 31),
                                   one << 24, index_t{46341}, most - 1,  least + 1, index_t{1000000}, -(one << 32)};
        auto const kind = byte();
        if (kind < 160) return static_cast<std::int8_t>(byte());
        if (kind < 230) return edges[byte() % edges.size()];
        if (kind < 245) return static_cast<std::int32_t>(word());
        return static_cast<index_t>(long_word());
    }

private:
    std::span<std::uint8_t const> left_;
};

/// Numbers that follow from a seed.
class stream {
public:
    explicit stream(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        auto x = state_;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    std::uint64_t below(std::uint64_t count) { return next() % count; }

private:
    std::uint64_t state_;
};

}  // namespace fuzz
