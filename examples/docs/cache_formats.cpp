// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far attention over a cache of few bits is from attention over its rows, both by the definition in double.
#include <fovea/fovea.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/testing/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

using namespace fovea;

namespace {

constexpr index_t kv_heads = 2, positions = 512, head_size = 64, queries = 8, page = 64;
constexpr extents_t<4> of_rows{1, kv_heads, positions, head_size};
constexpr auto spec = scaled_dot | softmax | weighted_sum;
using rows = tensor<float, 4>;

/// About normally distributed; of every 16 features, one is `outlier` times as large.
rows random_rows(testing::dice& random, extents_t<4> const& extents, float outlier) {
    rows x(extents);
    for (index_t i = 0; i < x.size(); ++i) {
        double sum = -6;
        for (int n = 0; n < 12; ++n) sum += random.real(0, 1);
        x.data()[i] = static_cast<float>(sum) * (i % 16 == 3 ? outlier : 1.0f);
    }
    return x;
}

struct sequence {
    rows key, value, query;
    tensor<double, 4> expected{{1, kv_heads, queries, head_size}};

    explicit sequence(float outlier) {
        testing::dice random(7);
        key = random_rows(random, of_rows, outlier);
        value = random_rows(random, of_rows, outlier);
        query = random_rows(random, expected.extents, 1);
        reference::attend(spec, query, key, value, expected);
    }
    /// The distance from what is expected, relative to its size; both are root mean squares.
    double error(auto const& keys, auto const& values) const { return error(query, keys, values); }
    double error(rows const& queries_of_call, auto const& keys, auto const& values) const {
        tensor<double, 4> got(expected.extents);
        reference::attend(spec, queries_of_call, keys, values, got);
        double distance = 0, size = 0;
        for (index_t i = 0; i < got.size(); ++i) {
            distance += std::pow(got.data()[i] - expected.data()[i], 2);
            size += std::pow(expected.data()[i], 2);
        }
        return std::sqrt(distance / size);
    }
};

template <class Number>
struct as_numbers {
    double operator()(sequence const& s) const {
        tensor<Number, 4> key(of_rows), value(of_rows);
        for (index_t i = 0; i < key.size(); ++i) {
            key.data()[i] = static_cast<Number>(s.key.data()[i]);
            value.data()[i] = static_cast<Number>(s.value.data()[i]);
        }
        return s.error(key, value);
    }
};

/// Queries as precision(q8) rounds them.
rows rounded(rows x) {
    for (float* block = x.data(); block < x.data() + x.size(); block += 32) {
        float largest = 0;
        for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(block[i]));
        for (int i = 0; i < 32; ++i) block[i] = std::round(block[i] * (127 / largest)) * (largest / 127);
    }
    return x;
}

template <class Block, bool Rounds_queries = false>
struct as_blocks {
    double operator()(sequence const& s) const {
        extents_t<4> const extents{1, kv_heads, positions, head_size / Block::size};
        std::vector<Block> key(static_cast<std::size_t>(kv_heads * positions * extents[3])), value(key.size());
        view<Block, 4> const keys(key.data(), extents), values(value.data(), extents);
        store(keys, s.key.view(), 0);
        store(values, s.value.view(), 0);
        return s.error(Rounds_queries ? rounded(s.query) : s.query, quantized(keys), quantized(values));
    }
};

/// Integers in pages, with scales of given extents, (page, head, slot, block), and perhaps zero points.
template <class Integer, bool Has_zeros>
struct as_integers {
    extents_t<4> of_scales;

    struct cache {
        tensor<Integer, 4> integers;
        tensor<float, 4> scales, zeros;
        tensor<std::int32_t, 2> table;

        auto source() const {
            if constexpr (Has_zeros)
                return block_scaled(paged(integers, table), paged(scales, table), paged(zeros, table));
            else return block_scaled(paged(integers, table), paged(scales, table));
        }
    };

    /// Scales that positions share are those of all rows; those of one position are left to store.
    cache stored(rows const& x) const {
        cache to{tensor<Integer, 4>({positions / page, kv_heads, page, head_size}), rows(of_scales), rows(of_scales),
                 tensor<std::int32_t, 2>({1, positions / page})};
        for (index_t i = 0; i < to.table.size(); ++i) to.table(0, i) = static_cast<std::int32_t>(i);
        constexpr float infinity = std::numeric_limits<float>::infinity();
        tensor<float, 4> least(of_scales, infinity), most(of_scales, -infinity);
        auto const of = [&](index_t i, int axis) { return i * of_scales[std::size_t(axis)] / to.integers.extent(axis); };
        for (index_t h = 0; h < kv_heads; ++h)
            for (index_t n = 0; n < positions; ++n)
                for (index_t c = 0; c < head_size; ++c) {
                    index_t const at[]{of(n / page, 0), of(h, 1), of(n % page, 2), of(c, 3)};
                    float& lo = least(at[0], at[1], at[2], at[3]);
                    float& hi = most(at[0], at[1], at[2], at[3]);
                    lo = std::min(lo, x(0, h, n, c));
                    hi = std::max(hi, x(0, h, n, c));
                }
        for (index_t i = 0; i < least.size(); ++i) {
            float const lo = least.data()[i], hi = most.data()[i];
            to.scales.data()[i] = Has_zeros ? (hi - lo) / 255 : std::max(hi, -lo) / 127;
            to.zeros.data()[i] = -lo / to.scales.data()[i];
        }
        if constexpr (Has_zeros)
            store(to.integers.view(), to.scales.view(), to.zeros.view(), to.table.view(), x.view(), 0);
        else store(to.integers.view(), to.scales.view(), to.table.view(), x.view(), 0);
        return to;
    }
    double operator()(sequence const& s) const {
        auto const key = stored(s.key), value = stored(s.value);
        return s.error(key.source(), value.source());
    }
};

}  // namespace

int main() {
    sequence const alike(1), outlying(10);
    std::printf("%-38s %5s  %-8s %s\n", "", "bits", "alike", "some features 10 times as large");
    auto const row = [&](char const* name, double bits, auto const& error) {
        std::printf("%-38s %5.2f  %.1e  %.1e\n", name, bits, error(alike), error(outlying));
    };
    constexpr index_t pages = positions / page;
    constexpr extents_t<4> of_position{pages, kv_heads, page, 1}, of_block{pages, kv_heads, page, head_size / 32},
        of_page{pages, kv_heads, 1, 1}, of_channel{1, kv_heads, 1, head_size};
    constexpr double of_float = 32.0 / head_size;
    row("bfloat16", 16, as_numbers<bfloat16>());
    row("fp8_e4m3", 8, as_numbers<fp8_e4m3>());
    row("fp8_e5m2", 8, as_numbers<fp8_e5m2>());
    row("q8_0", 8.5, as_blocks<q8_0>());
    row("q8_0 with precision(q8)", 8.5, as_blocks<q8_0, true>());
    row("q4_0", 4.5, as_blocks<q4_0>());
    row("q4_0 with precision(q8)", 4.5, as_blocks<q4_0, true>());
    row("q4_1", 5, as_blocks<q4_1>());
    row("int8, scale of 32 features", 9, as_integers<std::int8_t, false>{of_block});
    row("int8, scale of a position", 8 + of_float, as_integers<std::int8_t, false>{of_position});
    row("int8, scale of a page and head", 8 + of_float / page, as_integers<std::int8_t, false>{of_page});
    row("int8, scale of a head and feature", 8, as_integers<std::int8_t, false>{of_channel});
    row("uint8, scale and zero of a position", 8 + 2 * of_float, as_integers<std::uint8_t, true>{of_position});
    row("uint8, scale and zero of a page", 8 + 2 * of_float / page, as_integers<std::uint8_t, true>{of_page});
    row("uint8, scale and zero of a feature", 8, as_integers<std::uint8_t, true>{of_channel});
}
