// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Caches in blocks of a few bits, each format of them: decoding, prefill, and appending.
#include "bench/family.hpp"
#include "bench/hand/dequantised.hpp"
#include "bench/operands.hpp"
#include "bench/pair_rows.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace {

using bench::index_t;
using bench::shape;

/// Rows in blocks.
template <class Block>
struct cache {
    fovea::extents_t<4> extents;
    std::vector<Block> blocks;

    explicit cache(fovea::tensor<float, 4> const& rows)
        : extents{rows.extent(0), rows.extent(1), rows.extent(2), rows.extent(3) / Block::size},
          blocks(static_cast<std::size_t>(rows.size() / Block::size)) {
        fovea::store(view(), rows.view(), 0);
    }
    fovea::view<Block, 4> view() { return {blocks.data(), extents}; }
    auto rows() { return fovea::quantized(view()); }
};

template <class Block>
double bytes_of(shape const& s) {
    return 2.0 * static_cast<double>(s.key_heads() * s.key_length() * s.size / Block::size * index_t{sizeof(Block)});
}

/// Few queries, compared with float32 rows and with a plain loop.
template <class Block>
void decode(shape const& s) {
    bench::add<Block>("attend/decode", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        cache<Block> key(o.key), value(o.value);
        fovea::workspace scratch, other;
        auto plain_result = o.result, by_hand = o.result;
        bench::hand::dequantised<Block> hand(s.keys);
        index_t const queries = s.heads / s.kv_heads * s.length, of_queries = queries * s.size;
        auto work = bench::pair_work<float>(s, s.length * s.keys, true);
        work.bytes = bytes_of<Block>(s);
        bench::measure<float>(
            state, work, [&] { fovea::attend(scratch, bench::plain, o.query, key.rows(), value.rows(), o.result); },
            bench::over_plain([&] { fovea::attend(other, bench::plain, o.query, o.key, o.value, plain_result); }),
            bench::over_hand([&] {
                for (index_t h = 0; h < s.kv_heads; ++h)
                    hand(1 / std::sqrt(static_cast<float>(s.size)), queries, s.size, o.query.data() + h * of_queries,
                         key.view().place(0, h, 0, 0), value.view().place(0, h, 0, 0), by_hand.data() + h * of_queries);
            }));
        bench::check("a plain loop", by_hand, o.result);
    });
}

/// Queries rounded to integers, compared with queries as they are.
template <class Block>
void decode_rounded(shape const& s) {
    bench::add<Block>("attend/decode_rounded", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        cache<Block> key(o.key), value(o.value);
        fovea::workspace scratch, other;
        auto plain_result = o.result;
        auto work = bench::pair_work<float>(s, s.length * s.keys, true);
        work.bytes = bytes_of<Block>(s);
        auto const rounding = bench::plain | fovea::precision(fovea::q8);
        bench::measure<float>(
            state, work, [&] { fovea::attend(scratch, rounding, o.query, key.rows(), value.rows(), o.result); },
            bench::over_plain(
                [&] { fovea::attend(other, bench::plain, o.query, key.rows(), value.rows(), plain_result); }));
    });
}

/// Many queries, compared with float16 rows.
template <class Block>
void prefill(shape const& s) {
    bench::add<Block>("attend/prefill", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        cache<Block> key(o.key), value(o.value);
        fovea::tensor<fovea::float16, 4> key_16(o.key.extents), value_16(o.key.extents);
        auto const rounded = [](float x) { return fovea::float16(x); };
        std::transform(o.key.begin(), o.key.end(), key_16.begin(), rounded);
        std::transform(o.value.begin(), o.value.end(), value_16.begin(), rounded);
        fovea::workspace scratch, other;
        auto other_result = o.result;
        bench::measure<float>(
            state, bench::pair_work<float>(s, s.length * s.length, false),
            [&] { fovea::attend(scratch, bench::plain, o.query, key.rows(), value.rows(), o.result); },
            bench::over_plain([&] { fovea::attend(other, bench::plain, o.query, key_16, value_16, other_result); }));
    });
}

/// Rounding new rows to blocks; the bytes are those of the floats read.
template <class Block>
void append(shape const& s) {
    bench::add<Block>("attend/append", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        cache<Block> key(o.key);
        bench::work const work{.bytes = static_cast<double>(o.key.size()) * sizeof(float)};
        bench::measure<float>(state, work, [&] { fovea::store(key.view(), o.key.view(), 0); });
    });
}

template <class Block>
void rows_of() {
    for (index_t const queries : {1, 8})
        for (index_t const heads : {8, 32})
            decode<Block>({.heads = heads, .kv_heads = 8, .length = queries, .keys = 16384, .size = 128});
    for (index_t const heads : {8, 32})
        decode_rounded<Block>({.heads = heads, .kv_heads = 8, .length = 1, .keys = 16384, .size = 128});
    prefill<Block>({.heads = 8, .length = 512, .size = 128});
    append<Block>({.heads = 8, .length = 1, .size = 128});
    append<Block>({.heads = 8, .length = 512, .size = 128});
}

bench::family const rows([] {
    rows_of<fovea::q8_0>();
    rows_of<fovea::q4_0>();
    rows_of<fovea::q4_1>();
});

}  // namespace
