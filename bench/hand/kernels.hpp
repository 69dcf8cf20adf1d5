// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include <vector>

namespace bench::hand {

using fovea::index_t;

/// Plain attention of one head with 16 queries, 16 keys and 16 features, rows one after another.
void small(float const* query, float const* key, float const* value, float* result);

/// The same with 10 queries, 20 keys and 5 features.
void tiny(float const* query, float const* key, float const* value, float* result);

/// own: what the user's expression in attend/own.cpp says, for one head of 64 features, rows one after another.
///
///     x = q . k / 8 - slope (i - j),   score = x / (1 + |x| / 20),   j <= i and (i - j < 1024 or j < 64)
class own {
public:
    static constexpr index_t size = 64, width = 1024, sinks = 64;

    /// The length is a multiple of the keys in a block.
    explicit own(index_t length);
    void operator()(float slope, float const* query, float const* key, float const* value, float* result);

private:
    struct row_tile;
    void pack_keys(float const* key);

    index_t length_;
    std::vector<float> keys_;  // (panels, features, keys of a panel)
};

/// distances: Conformer's attention of one head of 64 features as a plain double loop, rows one after another; r holds
/// 2 length - 1 vectors.
///
///     score = ((q_i + u) . k_j + (q_i + w) . r_(i - j + length - 1)) / 8
struct distances {
    static constexpr index_t size = 64;
    index_t length;
    float const *query, *key, *value, *u, *w, *r;

    void attend(float* result) const;
    /// Those of query, key, value and r are added to; d_u and d_w, too.
    void gradient(float const* d_result, float* d_query, float* d_key, float* d_value, float* d_u, float* d_w,
                  float* d_r) const;

private:
    void scores(index_t row, float const* of_key, float const* of_distance, float* to) const;
};

/// distances_of_keys: the same where the vector of a distance is multiplied with the key, as in DeBERTa.
///
///     score = (q_i + r_(i - j + length - 1)) . k_j / 8
struct distances_of_keys {
    static constexpr index_t size = distances::size;
    index_t length;
    float const *query, *key, *value, *r;

    void attend(float* result) const;
    /// Those of query, key, value and r are added to.
    void gradient(float const* d_result, float* d_query, float* d_key, float* d_value, float* d_r) const;

private:
    void scores(index_t row, float* to) const;
};

}  // namespace bench::hand
