// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bench::hand {

using fovea::index_t;

/// dequantised: attention of the queries that share one head of a cache in blocks, as a plain program has it: each row
/// is decoded to floats, multiplied, and forgotten. Features are at most 256.
template <class Block>
class dequantised {
public:
    explicit dequantised(index_t keys) : scores_(static_cast<std::size_t>(keys)) {}

    void operator()(float scale, index_t queries, index_t features, float const* query, Block const* key,
                    Block const* value, float* result) {
        auto const keys = static_cast<index_t>(scores_.size());
        for (index_t i = 0; i < queries; ++i, query += features, result += features) {
            float most = -INFINITY, sum = 0;
            for (index_t n = 0; n < keys; ++n) {
                auto& score = scores_[static_cast<std::size_t>(n)];
                score = scale * product(query, row_of(key, n, features), features);
                most = std::max(most, score);
            }
            for (float& score : scores_) sum += score = std::exp(score - most);
            std::fill_n(result, features, 0.0f);
            for (index_t n = 0; n < keys; ++n) {
                float const weight = scores_[static_cast<std::size_t>(n)] / sum;
                float const* const row = row_of(value, n, features);
                for (index_t c = 0; c < features; ++c) result[c] += weight * row[c];
            }
        }
    }

private:
    std::vector<float> scores_;
    std::array<float, 256> row_;

    float const* row_of(Block const* blocks, index_t n, index_t features) {
        index_t const count = features / Block::size;
        for (index_t b = 0; b < count; ++b) blocks[n * count + b].numbers(row_.data() + b * Block::size);
        return row_.data();
    }
    /// In 16 sums, so that compilers use vectors.
    static float product(float const* a, float const* b, index_t features) {
        std::array<float, 16> sums{};
        for (index_t c = 0; c < features; c += 16)
            for (index_t i = 0; i < 16; ++i) sums[static_cast<std::size_t>(i)] += a[c + i] * b[c + i];
        float sum = 0;
        for (float const each : sums) sum += each;
        return sum;
    }
};

}  // namespace bench::hand
