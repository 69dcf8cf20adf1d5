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

}  // namespace bench::hand
