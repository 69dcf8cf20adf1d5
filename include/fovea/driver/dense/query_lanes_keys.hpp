// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values for tiles with a query in each lane: in place, or converted block by block.
#pragma once

#include <fovea/driver/dense/finite_blocks.hpp>
#include <fovea/driver/dense/query_lanes_functions.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The keys and values of one head, in place or converted, block by block, for tiles with a query in each lane.
template <class T, class Arch>
class query_lanes_keys {
    using shape = plan::query_lanes_blocking<T, Arch>;

public:
    static constexpr bool packs = false;

    query_lanes_keys(query_lanes_call<T, Arch> const& call, arena& memory, index_t)
        : call_(call),
          blocks_((call.keys + shape::block_keys - 1) / shape::block_keys),
          steps_per_line_(shape::steps_per_line((call.rows + shape::rows - 1) / shape::rows)),
          finite_(call, memory, blocks_),
          terms_(memory.template take<T>(blocks_ * call.functions.key_terms * shape::block_keys)),
          indices_(memory.template take<index_t>(blocks_ * call.functions.key_indices * shape::block_keys)),
          has_terms_(memory.template take<bool>(blocks_)),
          keys_(call, call.key, call.how.keys, call.functions.convert_keys, call.features),
          values_(call, call.value, call.how.values, call.functions.convert_values, call.value_features) {
        keys_.take(memory, shape::block_keys, call.keys, call.rows > shape::block_rows);
        values_.take(memory, shape::block_keys, call.keys, call.rows > shape::block_rows);
    }

    void begin(head_group heads) {
        heads_ = heads;
        keys_.begin();
        values_.begin();
        finite_.begin();
        fetched_ = 0;
        std::fill_n(has_terms_, blocks_, call_.functions.key_terms + call_.functions.key_indices == 0);
    }

    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.keys); }

    /// Computes the terms of a block. The next block is prefetched while this one is used, unless the L2 cache has it.
    void prepare(index_t block) {
        keys_.prepare(block, range(block));
        values_.prepare(block, range(block));
        if (!std::exchange(has_terms_[block], true))
            call_.functions.prepare_keys(call_, call_.facts(heads_, 0), range(block), terms_of(block),
                                         indices_of(block));
        index_t const next = block + 1;
        if (next < blocks_ && (next >= fetched_ || !stays_in_l2())) {
            next_keys = row_lines(call_.key, range(next), steps_per_line_);
            next_values = row_lines(call_.value, range(next), steps_per_line_);
        }
        fetched_ = std::max(fetched_, next + 1);
    }

    T const* terms(index_t block) const { return terms_of(block); }            // (terms, block_keys)
    index_t const* indices(index_t block) const { return indices_of(block); }  // (index terms, block_keys)
    bool finite(index_t block) const { return finite_(block, range(block)); }  // the values

    /// Up to `count` rows of the block that was prepared last.
    row_run<T> keys(index_t position, index_t count) const { return keys_(position, count); }
    row_run<T> values(index_t position, index_t count) const { return values_(position, count); }

    row_lines next_keys{}, next_values{};  // of the next block, to be prefetched

private:
    T* terms_of(index_t block) const { return terms_ + block * call_.functions.key_terms * shape::block_keys; }
    index_t* indices_of(index_t block) const {
        return indices_ + block * call_.functions.key_indices * shape::block_keys;
    }
    row_range range(index_t block) const { return {heads_.batch, call_.key_head(heads_), first(block), last(block)}; }

    bool stays_in_l2() const {
        constexpr index_t kept = 1 << 19;  // bytes
        return call_.keys * (call_.features + call_.value_features) * static_cast<index_t>(sizeof(T)) <= kept;
    }

    query_lanes_call<T, Arch> const& call_;
    head_group heads_{};
    index_t blocks_, steps_per_line_;
    index_t fetched_ = 0;  // blocks before it have been used or prefetched for this head
    finite_blocks<query_lanes_call<T, Arch>> finite_;
    T* terms_;          // (blocks, terms, block_keys)
    index_t* indices_;  // (blocks, index terms, block_keys)
    bool* has_terms_;   // (blocks)
    number_rows<T> keys_, values_;
};

}  // namespace fovea::FOVEA_SET::driver
