// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few queries against caches as servers keep them: in pages, compared with one array of the same elements, and in 8
// bits with a scale for each 32 features in an array of their own, compared with float32.
#include "bench/family.hpp"
#include "bench/operands.hpp"
#include "bench/pair_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using bench::index_t;
using bench::shape;

/// Keys, or values, of one sequence cut into pages, which lie in memory in any order.
template <class T>
struct shuffled_pages {
    fovea::tensor<T, 4> pages;             // (page, head, slot, feature)
    fovea::tensor<std::int32_t, 2> table;  // (batch, page)

    shuffled_pages(fovea::tensor<T, 4> const& rows, index_t slots)
        : pages({rows.extent(2) / slots, rows.extent(1), slots, rows.extent(3)}), table({1, rows.extent(2) / slots}) {
        std::iota(table.begin(), table.end(), std::int32_t{0});
        std::shuffle(table.begin(), table.end(), std::mt19937_64(7));
        for (index_t n = 0; n < rows.extent(2); ++n)
            for (index_t h = 0; h < rows.extent(1); ++h)
                std::copy_n(rows.view().place(0, h, n, 0), rows.extent(3),
                            pages.view().place(table(0, n / slots), h, n % slots, 0));
    }
    auto rows() const { return fovea::paged(pages, table); }
};

template <class Key>
void paged(shape const& s, index_t slots) {
    using query = bench::computed<Key>;
    std::string const family = "attend/paged" + std::to_string(slots);
    bench::add<Key>(family, s, [=](benchmark::State& state) {
        using in_storage = std::conditional_t<std::is_integral_v<Key>, query, Key>;
        auto q = bench::operands_of<in_storage>({.heads = s.heads, .length = s.length, .keys = 1, .size = s.size});
        fovea::tensor<Key, 4> key({1, s.kv_heads, s.keys, s.size}), value(key.extents);
        std::mt19937_64 bits(3);
        for (auto* const rows : {&key, &value})
            for (Key& x : *rows) {
                auto const number = static_cast<float>(bits() % 255) - 127;
                x = std::is_integral_v<Key> ? static_cast<Key>(number) : static_cast<Key>(number / 127);
            }
        shuffled_pages<Key> const keys(key, slots), values(value, slots);
        using namespace fovea::placeholders;
        auto const spec = fovea::scaled_dot | fovea::rescore(score * (std::is_integral_v<Key> ? 1 / 127.0f : 1.0f))
                        | fovea::softmax | fovea::weighted_sum;
        fovea::workspace scratch, other;
        auto other_result = q.result;
        bench::measure<query>(
            state, bench::pair_work<Key>(s, s.length * s.keys, true),
            [&] { fovea::attend(scratch, spec, q.query, keys.rows(), values.rows(), q.result); },
            bench::over_plain([&] { fovea::attend(other, spec, q.query, key, value, other_result); }));
    });
}

/// Keys and values as integers of 8 bits, with a scale for each 32 features.
void block_scaled(shape const& s) {
    bench::add<std::int8_t>("attend/block_scaled", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        fovea::tensor<std::int8_t, 4> key(o.key.extents), value(o.key.extents);
        fovea::tensor<float, 4> scales({1, s.kv_heads, s.keys, s.size / 32}, 1.0f / 127);
        std::mt19937_64 bits(3);
        for (auto* const rows : {&key, &value})
            for (auto& x : *rows) x = static_cast<std::int8_t>(static_cast<int>(bits() % 255) - 127);
        fovea::workspace scratch, other;
        auto other_result = o.result;
        bench::measure<float>(
            state, bench::pair_work<std::int8_t>(s, s.length * s.keys, true),
            [&] {
                fovea::attend(scratch, bench::plain, o.query, fovea::block_scaled(key, scales),
                              fovea::block_scaled(value, scales), o.result);
            },
            bench::over_plain([&] { fovea::attend(other, bench::plain, o.query, o.key, o.value, other_result); }));
    });
}

bench::family const rows([] {
    for (index_t const queries : {1, 8})
        block_scaled({.heads = 32, .kv_heads = 8, .length = queries, .keys = 16384, .size = 128});
    for (index_t const slots : {16, 64})
        for (index_t const queries : {1, 8}) {
            shape const s{.heads = 32, .kv_heads = 8, .length = queries, .keys = 16384, .size = 128};
            paged<float>(s, slots);
            paged<fovea::bfloat16>(s, slots);
            paged<fovea::float16>(s, slots);
            paged<std::int8_t>(s, slots);
        }
    shape const cached{.heads = 32, .kv_heads = 8, .length = 8, .keys = 1024, .size = 128};
    paged<float>(cached, 16);
    paged<fovea::float16>(cached, 16);
    paged<float>({.heads = 8, .kv_heads = 8, .length = 512, .keys = 2048, .size = 64}, 16);
});

}  // namespace
