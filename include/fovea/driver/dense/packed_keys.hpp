// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values for tiles with a key in each lane: packed block by block, or in place.
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/dense/finite_blocks.hpp>
#include <fovea/driver/dense/key_lanes_functions.hpp>
#include <fovea/driver/row_runs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The keys and values of one head, block by block in the layout of the register tiles, or in place.
///
/// A block is packed when it is first used. Where all rows fit one block of rows, each block of keys is used once and
/// all share the memory of one; otherwise as many as a block of rows sees are kept. Keys are read in place where all
/// rows fit one tile, and in calls that may also run with queries in lanes.
template <class T, class Arch>
class packed_keys {
    using shape = plan::key_lanes_blocking<T, Arch>;
    using integer = kernel::integer_like<T>;

public:
    static constexpr bool packs = true;  // blocks stay packed for the next block of rows

    /// Memory for `slots` blocks at a time; keys are read in place unless the plan packs them.
    packed_keys(key_lanes_call<T, Arch> const& call, arena& memory, index_t slots)
        : call_(call),
          in_place_(call.how.keys == plan::reading::in_place),
          values_in_place_(call.how.values == plan::reading::in_place),
          blocks_((call.keys + shape::block_keys - 1) / shape::block_keys),
          slots_(std::clamp<index_t>(slots, 1, std::max<index_t>(blocks_, 1))),
          value_width_(call.value_width()),
          steps_per_line_(shape::steps_per_line((call.rows + shape::rows - 1) / shape::rows)),
          finite_(call, memory, blocks_) {
        auto const& functions = call.functions;
        holds_ = memory.template take<index_t>(slots_);
        factorable_ = memory.template take<bool>(slots_);
        keys_ = memory.template take<T>(slots_ * functions.planes * shape::block_keys * call.key_features);
        terms_ = memory.template take<T>(slots_ * term_slots() * shape::block_keys);
        indices_ = memory.template take<integer>(slots_ * functions.key_indices * shape::block_keys);
        if (functions.loads_rows)
            loaded_ = memory.template take<T>(rows_at_once
                                              * loaded_stride<T>(std::max(call.key_features, call.value_features)));
        if (!values_in_place_)
            values_ = memory.template take<T>(slots_ * shape::block_keys / functions.keys_per_row * value_width_);
    }

    /// Begins with another head: nothing is packed yet.
    void begin(head_group at) {
        heads_ = at;
        std::fill_n(holds_, slots_, index_t{-1});
        finite_.begin();
    }

    head_group heads() const { return heads_; }
    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.keys); }
    row_range range(index_t block) const { return {heads_.batch, heads_.index, first(block), last(block)}; }

    /// Packs a block unless it is there.
    void prepare(index_t block) {
        if (holds_[slot(block)] == block) return;
        holds_[slot(block)] = block;
        factorable_[slot(block)] = true;
        if (!in_place_ && slots_ == 1 && block + 1 < blocks_) {
            next_keys_ = row_lines(call_.key, range(block + 1), steps_per_line_);
            next_values_ = row_lines(call_.value, range(block + 1), steps_per_line_);
        }
        call_.functions.pack(call_, *this, block);
    }

    /// True where products are computed with keys in place.
    bool in_place() const { return in_place_; }
    /// True where values are read in place.
    bool values_in_place() const { return values_in_place_; }
    index_t value_width() const { return value_width_; }

    /// Memory for rows that are loaded: (rows_at_once, loaded_stride).
    T* loaded() const { return loaded_; }
    /// Keys of a block in the layout of one plane: (panels, features, panel).
    T* keys(index_t block, index_t plane) const {
        return keys_ + (slot(block) * call_.functions.planes + plane) * shape::block_keys * call_.key_features;
    }
    /// Key terms of a block for one head of the group: (terms, block_keys).
    T* terms(index_t block, index_t group_head) const {
        index_t const before = call_.functions.terms_per_head ? group_head * call_.functions.key_terms : 0;
        return terms_ + (slot(block) * term_slots() + before) * shape::block_keys;
    }
    /// Index terms of the keys of a block: (terms, block_keys).
    integer* indices(index_t block) const {
        return indices_ + slot(block) * call_.functions.key_indices * shape::block_keys;
    }
    /// Values of a block from one of its keys on: (keys / keys_per_row, value_width).
    T* values(index_t block, index_t key) const {
        return values_ + (slot(block) * shape::block_keys + key) / call_.functions.keys_per_row * value_width_;
    }

    /// What is packed after the block that was packed last, where each is read once: keys, and then values.
    kernel::prefetch_queue& prefetches() const {
        auto& keys = next_keys_.queue();
        return keys.empty() ? next_values_.queue() : keys;
    }

    /// True where all values of the block are finite.
    bool finite(index_t block) const { return finite_(block, range(block)); }

    /// False where an exponential of the block left its range and pairwise terms must be computed as written.
    bool& factorable(index_t block) const { return factorable_[slot(block)]; }

private:
    index_t slot(index_t block) const { return slots_ == blocks_ ? block : block % slots_; }
    index_t term_slots() const {
        return call_.functions.key_terms * (call_.functions.terms_per_head ? call_.tile_heads : 1);
    }

    key_lanes_call<T, Arch> const& call_;
    head_group heads_{};
    bool in_place_, values_in_place_;
    index_t blocks_, slots_, value_width_, steps_per_line_;
    finite_blocks<key_lanes_call<T, Arch>> finite_;
    mutable row_lines next_keys_{}, next_values_{};
    index_t* holds_ = nullptr;    // (slots) the block that a slot holds
    bool* factorable_ = nullptr;  // (slots)
    T* keys_ = nullptr;           // (slots, planes, panels, features, panel)
    T* terms_ = nullptr;          // (slots, heads, terms, keys)
    integer* indices_ = nullptr;  // (slots, index terms, keys)
    T* values_ = nullptr;         // (slots, keys / keys_per_row, value_width)
    T* loaded_ = nullptr;         // (rows_at_once, loaded_stride)
};

}  // namespace fovea::FOVEA_SET::driver
