// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of 256 keys meet tiles of as many queries as registers allow; see kernels.hpp for what is computed.
#include "bench/hand/kernels.hpp"

#include "bench/hand/arithmetic.hpp"

#include <algorithm>

namespace bench::hand {
namespace {

constexpr index_t rows = YARDSTICK_CHAINS / 2, panel = 2 * lanes, block = 8 * panel, tiles = 8;
constexpr index_t row_places = (rows + lanes - 1) / lanes * lanes;
constexpr index_t size = own::size, width = own::width, sinks = own::sinks;

/// rows x 2 vectors of products of packed queries (size, row_places) with a packed panel (size, panel).
[[gnu::noinline]] void contract(float const* query, float const* key, float* scores) {
    vector sum[rows][2]{};
    for (index_t f = 0; f < size; ++f, query += row_places, key += panel) {
        vector const k0 = load(key), k1 = load(key + lanes);
#pragma GCC unroll 12
        for (index_t r = 0; r < rows; ++r) {
            sum[r][0] += query[r] * k0;
            sum[r][1] += query[r] * k1;
        }
    }
#pragma GCC unroll 12
    for (index_t r = 0; r < rows; ++r) {
        store(sum[r][0], scores + r * block);
        store(sum[r][1], scores + r * block + lanes);
    }
}

/// Weights of `keys` keys meet two vectors of their values.
[[gnu::noinline]] void accumulate(float const* weights, index_t keys, float const* value, float const* rescale,
                                  float* sums) {
    vector sum[rows][2];
#pragma GCC unroll 12
    for (index_t r = 0; r < rows; ++r) {
        sum[r][0] = rescale[r] * load(sums + r * size);
        sum[r][1] = rescale[r] * load(sums + r * size + lanes);
    }
    for (index_t k = 0; k < keys; ++k, value += size) {
        vector const v0 = load(value), v1 = load(value + lanes);
#pragma GCC unroll 12
        for (index_t r = 0; r < rows; ++r) {
            sum[r][0] += weights[r * block + k] * v0;
            sum[r][1] += weights[r * block + k] * v1;
        }
    }
#pragma GCC unroll 12
    for (index_t r = 0; r < rows; ++r) {
        store(sum[r][0], sums + r * size);
        store(sum[r][1], sums + r * size + lanes);
    }
}

/// 0, 1, 2, ...
vector counting() {
    float numbers[lanes];
    for (index_t i = 0; i < lanes; ++i) numbers[i] = static_cast<float>(i);
    return load(numbers);
}

/// The score of row i and keys from j on out of their product; returns the greatest.
template <bool Masked>
float rescore(float* scores, index_t vectors, float slope, index_t i, index_t j) {
    vector highest = all(no_score), distance = all(static_cast<float>(i - j)) - counting();
    for (index_t v = 0; v < vectors; ++v, distance -= static_cast<float>(lanes)) {
        vector const x = load(scores + v * lanes) - slope * distance;
        vector const magnitude = x > 0 ? x : -x;
        vector score = x / (1 + magnitude * 0.05f);
        if constexpr (Masked) {
            vector const position = static_cast<float>(i) - distance;
            auto const seen =
                (distance >= 0) & ((distance < static_cast<float>(width)) | (position < static_cast<float>(sinks)));
            score = seen ? score : all(no_score);
        }
        store(score, scores + v * lanes);
        highest = greater(highest, score);
    }
    return reduce(highest, greater);
}

/// Scores become weights; returns their sum.
float weigh(float* scores, index_t vectors, float highest) {
    vector sum[2]{};
    float const shift = highest * log2_e;
    for (index_t v = 0; v < vectors; v += 2)
#pragma GCC unroll 2
        for (index_t w = 0; w < 2; ++w) {
            vector const weight = exp2(load(scores + (v + w) * lanes) * log2_e - shift);
            store(weight, scores + (v + w) * lanes);
            sum[w] += weight;
        }
    return reduce(sum[0] + sum[1], [](vector const& a, vector const& b) { return a + b; });
}

enum class seen { none, some, all };

/// Which keys from j on the queries from i on see.
seen coverage(index_t i, index_t queries, index_t j, index_t keys) {
    index_t const last_i = i + queries - 1, last_j = j + keys - 1;
    if (j > last_i || (i - last_j >= width && j >= sinks)) return seen::none;
    return last_j <= i && (last_i - j < width || last_j < sinks) ? seen::all : seen::some;
}

}  // namespace

/// `rows` queries and what is carried for them.
struct own::row_tile {
    index_t first, count;
    alignas(64) float query[size * row_places];  // (features, row_places), scaled
    alignas(64) float sums[rows * size];
    float highest[rows], total[rows];

    void begin(float const* from, index_t at, index_t length) {
        first = at;
        count = std::min(rows, length - at);
        for (index_t r = 0; r < row_places; r += lanes)
            for (index_t f = 0; f < size; f += lanes) {
                vector square[lanes];
                for (index_t i = 0; i < lanes; ++i)
                    square[i] = load(from + std::min(at + r + i, length - 1) * size + f) * 0.125f;
                transpose(square);
                for (index_t i = 0; i < lanes; ++i) store(square[i], query + (f + i) * row_places + r);
            }
        std::fill_n(highest, rows, no_score);
        std::fill_n(total, rows, 0.f);
        std::fill_n(sums, rows * size, 0.f);
    }

    /// Keys of a block from j on, in panels that all have visible pairs.
    void meet(float slope, float const* packed, float const* value, index_t j, index_t panels, bool const* masked) {
        alignas(64) float scores[rows * block];
        float rescale[rows]{};
        for (index_t p = 0; p < panels; ++p) contract(query, packed + p * panel * size, scores + p * panel);
        for (index_t r = 0; r < count; ++r) {
            float* const row = scores + r * block;
            float greatest = no_score;
            for (index_t p = 0; p < panels;) {
                index_t const begin = p;
                while (p < panels && masked[p] == masked[begin]) ++p;
                auto const change = masked[begin] ? rescore<true> : rescore<false>;
                greatest = std::max(greatest,
                                    change(row + begin * panel, 2 * (p - begin), slope, first + r, j + begin * panel));
            }
            rescale[r] = 1;
            if (greatest > highest[r] + 8) {
                rescale[r] = highest[r] == no_score ? 0.f : exp2(all((highest[r] - greatest) * log2_e))[0];
                highest[r] = greatest;
            }
            if (highest[r] == no_score) std::fill_n(row, panels * panel, 0.f);
            else total[r] = total[r] * rescale[r] + weigh(row, 2 * panels, highest[r]);
        }
        for (index_t c = 0; c < size; c += 2 * lanes) accumulate(scores, panels * panel, value + c, rescale, sums + c);
    }

    void finish(float* result) const {
        for (index_t r = 0; r < count; ++r) {
            float const share = 1 / total[r];
            for (index_t c = 0; c < size; c += lanes)
                store(load(sums + r * size + c) * share, result + (first + r) * size + c);
        }
    }
};

own::own(index_t length) : length_(length), keys_(static_cast<std::size_t>(length * size)) {}

void own::pack_keys(float const* key) {
    for (index_t j = 0; j < length_; j += lanes)
        for (index_t f = 0; f < size; f += lanes) {
            vector square[lanes];
            for (index_t i = 0; i < lanes; ++i) square[i] = load(key + (j + i) * size + f);
            transpose(square);
            float* const to = keys_.data() + j / panel * panel * size + j % panel;
            for (index_t i = 0; i < lanes; ++i) store(square[i], to + (f + i) * panel);
        }
}

void own::operator()(float slope, float const* query, float const* key, float const* value, float* result) {
    static thread_local row_tile tile[tiles];
    pack_keys(key);
    for (index_t i = 0; i < length_; i += tiles * rows) {
        index_t const count = std::min(tiles, (length_ - i + rows - 1) / rows);
        for (index_t t = 0; t < count; ++t) tile[t].begin(query, i + t * rows, length_);
        for (index_t j = 0; j < length_ && j < i + tiles * rows; j += block)
            for (index_t t = 0; t < count; ++t) {
                bool masked[block / panel];
                for (index_t p = 0; p < block / panel;) {
                    index_t const begin = p;
                    for (; p < block / panel; ++p) {
                        auto const pairs = coverage(tile[t].first, tile[t].count, j + p * panel, panel);
                        if (pairs == seen::none) break;
                        masked[p] = pairs == seen::some;
                    }
                    index_t const from = j + begin * panel;
                    if (p == begin) ++p;
                    else
                        tile[t].meet(slope, keys_.data() + from * size, value + from * size, from, p - begin,
                                     masked + begin);
                }
            }
        for (index_t t = 0; t < count; ++t) tile[t].finish(result);
    }
}

}  // namespace bench::hand
