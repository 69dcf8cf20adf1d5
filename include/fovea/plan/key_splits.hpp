// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the keys of a head are divided for split KV.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::plan {

/// The keys of a head in splits (split KV), which threads share where rows are few. Where they are cut depends on the
/// numbers of keys and rows, never on that of threads, so results have the same bits for any number of threads.
class key_splits {
public:
    constexpr key_splits() = default;
    /// One split unless there are few rows: many rows are divided among the threads themselves.
    constexpr key_splits(index_t key_blocks, bool few_rows)
        : blocks_(key_blocks),
          size_(few_rows ? std::max<index_t>(least, ceil_div(key_blocks, most)) : std::max<index_t>(key_blocks, 1)),
          count_(std::max<index_t>(ceil_div(key_blocks, size_), 1)) {}

    constexpr index_t count() const { return count_; }
    /// Blocks of keys [first, last) of a split.
    constexpr index_t first(index_t split) const { return split * size_; }
    constexpr index_t last(index_t split) const { return std::min((split + 1) * size_, blocks_); }

private:
    static constexpr index_t least = 16, most = 32;  // blocks of a split, splits

    index_t blocks_ = 0, size_ = 1, count_ = 1;
};

}  // namespace fovea::FOVEA_SET::plan
