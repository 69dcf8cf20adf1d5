// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks of one bit for each pair, compared with the same mask as a table of bool, which `over_plain` is relative to.
#include "bench/family.hpp"
#include "bench/operands.hpp"
#include "bench/pair_rows.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using bench::index_t;
using bench::shape;

/// About half of the pairs, in rows of as many bits as there are keys.
void packed_bits(shape const& s) {
    bench::add<float>("attend/packed_bits", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        fovea::tensor<bool, 2> bools({s.length, s.keys});
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>((bools.size() + 7) / 8));
        std::mt19937_64 random(3);
        for (index_t i = 0; i < bools.size(); ++i) {
            bools.data()[i] = random() % 2 == 0;
            if (bools.data()[i]) bytes[static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(1 << i % 8);
        }
        auto const masked = [](auto const& visible) {
            return fovea::scaled_dot | fovea::mask_tensor(visible) | fovea::softmax | fovea::weighted_sum;
        };
        auto const bits = masked(fovea::packed_bits(bytes, {s.length, s.keys}));
        auto const plain = masked(bools);
        fovea::workspace scratch, other;
        auto other_result = o.result;
        bench::measure<float>(
            state, bench::pair_work<float>(s, s.length * s.keys, s.length == 1),
            [&] { fovea::attend(scratch, bits, o.query, o.key, o.value, o.result); },
            bench::over_plain([&] { fovea::attend(other, plain, o.query, o.key, o.value, other_result); }));
    });
}

bench::family const rows([] {
    packed_bits({.heads = 8, .kv_heads = 8, .length = 512, .keys = 512, .size = 128});
    packed_bits({.heads = 8, .kv_heads = 8, .length = 512, .keys = 509, .size = 128});
    packed_bits({.heads = 8, .kv_heads = 8, .length = 1, .keys = 4096, .size = 128});
});

}  // namespace
