// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys for tiles with a key in each lane: packed block by block, or in place.
#pragma once

#include <fovea/driver/arena.hpp>
#include <fovea/driver/dense/block_slots.hpp>
#include <fovea/driver/dense/key_lanes_functions.hpp>
#include <fovea/driver/row_runs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The keys of one head, block by block in the layout of the register tiles, or in place as the plan says. A block is
/// packed when it is first used.
template <class T, class Arch>
class packed_keys {
    using shape = plan::key_lanes_blocking<T, Arch>;
    using integer = kernel::integer_like<T>;

public:
    /// Memory for `slots` blocks at a time.
    packed_keys(key_lanes_call<T, Arch> const& call, arena& memory, index_t slots)
        : call_(call),
          slots_(memory, ceil_div(call.keys, shape::block_keys), slots),
          steps_per_line_(shape::steps_per_line(ceil_div(call.rows, shape::rows))) {
        auto const& functions = call.functions;
        index_t const count = slots_.count();
        factorable_ = memory.template take<bool>(count);
        keys_ = memory.template take<T>(count * functions.planes * shape::block_keys * call.summed.most);
        terms_ = memory.template take<T>(count * term_slots() * shape::block_keys);
        indices_ = memory.template take<integer>(count * functions.key_indices * shape::block_keys);
        if (functions.loads_keys) loaded_ = memory.template take<T>(rows_at_once * loaded_stride<T>(call.key_features));
    }

    /// Begins with another head: nothing is packed yet.
    void begin(head_group at) {
        heads_ = at;
        slots_.begin();
    }

    head_group heads() const { return heads_; }
    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.keys); }
    row_range range(index_t block) const { return {heads_.batch, heads_.index, first(block), last(block)}; }

    /// Packs a block unless it is there. The block after it is prefetched where each is read once.
    void prepare(index_t block, next_lines& next) {
        if (!slots_.put(block)) return;
        factorable_[slots_[block]] = true;
        if (!in_place() && slots_.count() == 1 && block + 1 < slots_.blocks())
            next.keys = row_lines(call_.key, range(block + 1), steps_per_line_);
        call_.functions.pack(call_, *this, block);
    }

    /// True where products are computed with keys in place.
    bool in_place() const { return call_.how.keys == plan::reading::in_place; }

    /// Memory for rows that are loaded: (rows_at_once, loaded_stride).
    T* loaded() const { return loaded_; }
    /// Keys of a block in the layout of one plane: (panels, features, panel).
    T* keys(index_t block, index_t plane) const {
        return keys_ + (slots_[block] * call_.functions.planes + plane) * shape::block_keys * call_.summed.most;
    }
    /// Key terms of a block for one head of the group: (terms, block_keys).
    T* terms(index_t block, index_t group_head) const {
        index_t const before = call_.functions.terms_per_head ? group_head * call_.functions.key_terms : 0;
        return terms_ + (slots_[block] * term_slots() + before) * shape::block_keys;
    }
    /// Index terms of the keys of a block: (terms, block_keys).
    integer* indices(index_t block) const {
        return indices_ + slots_[block] * call_.functions.key_indices * shape::block_keys;
    }
    /// False where an exponential of the block left its range and pairwise terms must be computed as written.
    bool& factorable(index_t block) const { return factorable_[slots_[block]]; }

private:
    index_t term_slots() const {
        return call_.functions.key_terms * (call_.functions.terms_per_head ? call_.tile_heads : 1);
    }

    key_lanes_call<T, Arch> const& call_;
    head_group heads_{};
    block_slots slots_;
    index_t steps_per_line_;
    bool* factorable_ = nullptr;  // (slots)
    T* keys_ = nullptr;           // (slots, planes, panels, features, panel)
    T* terms_ = nullptr;          // (slots, heads, terms, keys)
    integer* indices_ = nullptr;  // (slots, index terms, keys)
    T* loaded_ = nullptr;         // (rows_at_once, loaded_stride)
};

}  // namespace fovea::FOVEA_SET::driver
