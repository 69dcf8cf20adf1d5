// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values for tiles with a key in each lane: packed block by block, or in place.
#pragma once

#include <fovea/driver/dense/finite_blocks.hpp>
#include <fovea/driver/dense/key_lanes_sums_functions.hpp>
#include <fovea/driver/dense/packed_keys.hpp>

namespace fovea::FOVEA_SET::driver {

/// The values of one head, block by block in rows of whole vectors, or in place as the plan says.
template <class T, class Arch>
class packed_values {
    using shape = plan::key_lanes_blocking<T, Arch>;

public:
    /// Memory for `slots` blocks at a time.
    packed_values(key_lanes_attention<T, Arch> const& call, arena& memory, index_t slots)
        : call_(call),
          slots_(memory, ceil_div(call.keys, shape::block_keys), slots),
          width_(call.value_width()),
          steps_per_line_(shape::steps_per_line(ceil_div(call.rows, shape::rows))),
          finite_(call, memory, slots_.blocks()) {
        if (call.sums.loads_values)
            loaded_ = memory.template take<T>(rows_at_once * loaded_stride<T>(call.value_features));
        if (!in_place())
            values_ = memory.template take<T>(slots_.count() * shape::block_keys / call.sums.keys_per_row * width_);
    }

    /// Begins with another head: nothing is packed yet.
    void begin(head_group at) {
        heads_ = at;
        slots_.begin();
        finite_.begin();
    }

    head_group heads() const { return heads_; }
    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.keys); }
    row_range range(index_t block) const { return {heads_.batch, heads_.index, first(block), last(block)}; }

    /// Packs a block unless it is there, or is read in place. The block after it is prefetched where each is read once.
    void prepare(index_t block, next_lines& next) {
        if (!slots_.put(block)) return;
        if (call_.how.keys != plan::reading::in_place && slots_.count() == 1 && block + 1 < slots_.blocks())
            next.values = row_lines(call_.value, range(block + 1), steps_per_line_);
        if (!in_place()) call_.sums.pack(call_, *this, block);
    }

    bool in_place() const { return call_.how.values == plan::reading::in_place; }
    index_t width() const { return width_; }

    /// Memory for rows that are loaded: (rows_at_once, loaded_stride).
    T* loaded() const { return loaded_; }
    /// Values of a block from one of its keys on: (keys / keys_per_row, width).
    T* values(index_t block, index_t key) const {
        return values_ + (slots_[block] * shape::block_keys + key) / call_.sums.keys_per_row * width_;
    }
    /// True where all values of the block are finite.
    bool finite(index_t block) const { return finite_(block, range(block)); }

private:
    key_lanes_attention<T, Arch> const& call_;
    head_group heads_{};
    block_slots slots_;
    index_t width_, steps_per_line_;
    finite_blocks<key_lanes_attention<T, Arch>> finite_;
    T* values_ = nullptr;  // (slots, keys / keys_per_row, width)
    T* loaded_ = nullptr;  // (rows_at_once, loaded_stride)
};

}  // namespace fovea::FOVEA_SET::driver
