// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which blocks of keys or values lie in the memory that there is for some of them.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/arena.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Memory for some of the blocks of one head, each in a slot of its own. Where all rows fit one block of rows, each
/// block of keys is used once and all share one slot; otherwise there is one for each that a block of rows sees.
class block_slots {
public:
    block_slots(arena& memory, index_t blocks, index_t slots)
        : blocks_(blocks),
          count_(std::clamp<index_t>(slots, 1, std::max<index_t>(blocks, 1))),
          holds_(memory.take<index_t>(count_)) {}

    index_t blocks() const { return blocks_; }
    index_t count() const { return count_; }
    /// The slot of a block.
    index_t operator[](index_t block) const { return count_ == blocks_ ? block : block % count_; }

    /// Another head: no slot holds anything.
    void begin() { std::fill_n(holds_, count_, index_t{-1}); }
    /// True where the slot of the block held another one, or none, and what it holds must be made.
    bool put(index_t block) {
        if (holds_[(*this)[block]] == block) return false;
        holds_[(*this)[block]] = block;
        return true;
    }

private:
    index_t blocks_, count_;
    index_t* holds_;  // (slots) the block that a slot holds
};

}  // namespace fovea::FOVEA_SET::driver
