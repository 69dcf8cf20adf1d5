// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys and values for tiles with a query in each lane: in place, or converted block by block.
#pragma once

#include <fovea/driver/dense/finite_blocks.hpp>
#include <fovea/driver/dense/next_lines.hpp>
#include <fovea/driver/dense/query_lanes_functions.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// Blocks of keys, or values, after which the next is prefetched while one is used, unless the L2 cache has it.
template <class T, class Arch>
class prefetched_blocks {
    using shape = plan::query_lanes_blocking<T, Arch>;

public:
    explicit prefetched_blocks(dense_rows const& call)
        : blocks_(ceil_div(call.keys, shape::block_keys)),
          steps_per_line_(shape::steps_per_line(ceil_div(call.rows, shape::rows))),
          stays_in_l2_(call.keys * (call.features + call.value_features) * static_cast<index_t>(sizeof(T)) <= kept) {}

    /// Another head.
    void begin() { fetched_ = 0; }

    /// The lines to prefetch while the block before `next` is used: none of those that the cache has.
    void prepare(index_t block, stored_rows const& rows, row_range const& next, row_lines& lines) {
        if (block + 1 < blocks_ && (block + 1 >= fetched_ || !stays_in_l2_))
            lines = row_lines(rows, next, steps_per_line_);
        fetched_ = std::max(fetched_, block + 2);
    }

private:
    static constexpr index_t kept = 1 << 19;  // bytes
    index_t blocks_, steps_per_line_;
    bool stays_in_l2_;
    index_t fetched_ = 0;  // blocks before it have been used or prefetched for this head
};

/// The keys of one head, in place or converted, block by block, for tiles with a query in each lane.
template <class T, class Arch>
class query_lanes_keys {
    using shape = plan::query_lanes_blocking<T, Arch>;

public:
    query_lanes_keys(query_lanes_call<T, Arch> const& call, arena& memory)
        : call_(call),
          blocks_(ceil_div(call.keys, shape::block_keys)),
          ahead_(call),
          terms_(memory.template take<T>(blocks_ * call.functions.key_terms * shape::block_keys)),
          indices_(memory.template take<index_t>(blocks_ * call.functions.key_indices * shape::block_keys)),
          has_terms_(memory.template take<bool>(blocks_)),
          keys_(call, call.key, call.how.keys, call.functions.convert_keys, call.features) {
        keys_.take(memory, shape::block_keys, call.keys, call.rows > shape::block_rows);
    }

    void begin(head_group heads) {
        heads_ = heads;
        keys_.begin();
        ahead_.begin();
        std::fill_n(has_terms_, blocks_, call_.functions.key_terms + call_.functions.key_indices == 0);
    }

    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.keys); }
    row_range range(index_t block) const { return {heads_.batch, call_.key_head(heads_), first(block), last(block)}; }

    /// Computes the terms of a block.
    void prepare(index_t block, next_lines& next) {
        keys_.prepare(block, range(block));
        if (!std::exchange(has_terms_[block], true))
            call_.functions.prepare_keys(call_, call_.facts(heads_, 0), range(block), terms_of(block),
                                         indices_of(block));
        ahead_.prepare(block, call_.key, range(block + 1), next.keys);
    }

    T const* terms(index_t block) const { return terms_of(block); }            // (terms, block_keys)
    index_t const* indices(index_t block) const { return indices_of(block); }  // (index terms, block_keys)

    /// Up to `count` rows of the block that was prepared last.
    row_run<T> operator()(index_t position, index_t count) const { return keys_(position, count); }

private:
    T* terms_of(index_t block) const { return terms_ + block * call_.functions.key_terms * shape::block_keys; }
    index_t* indices_of(index_t block) const {
        return indices_ + block * call_.functions.key_indices * shape::block_keys;
    }

    query_lanes_call<T, Arch> const& call_;
    head_group heads_{};
    index_t blocks_;
    prefetched_blocks<T, Arch> ahead_;
    T* terms_;          // (blocks, terms, block_keys)
    index_t* indices_;  // (blocks, index terms, block_keys)
    bool* has_terms_;   // (blocks)
    number_rows<T> keys_;
};

/// The values of one head, in place or converted, block by block, for tiles with a query in each lane.
template <class T, class Arch>
class query_lanes_values {
    using shape = plan::query_lanes_blocking<T, Arch>;

public:
    query_lanes_values(query_lanes_attention<T, Arch> const& call, arena& memory)
        : call_(call),
          ahead_(call),
          finite_(call, memory, ceil_div(call.keys, shape::block_keys)),
          values_(call, call.value, call.how.values, call.sums.convert_values, call.value_features) {
        values_.take(memory, shape::block_keys, call.keys, call.rows > shape::block_rows);
    }

    void begin() {
        values_.begin();
        ahead_.begin();
        finite_.begin();
    }
    /// `at` are the keys of the block, `after` those of the next.
    void prepare(index_t block, row_range const& at, row_range const& after, next_lines& next) {
        values_.prepare(block, at);
        ahead_.prepare(block, call_.value, after, next.values);
    }
    bool finite(index_t block, row_range const& at) const { return finite_(block, at); }

    /// Up to `count` rows of the block that was prepared last.
    row_run<T> operator()(index_t position, index_t count) const { return values_(position, count); }

private:
    query_lanes_attention<T, Arch> const& call_;
    prefetched_blocks<T, Arch> ahead_;
    finite_blocks<query_lanes_attention<T, Arch>> finite_;
    number_rows<T> values_;
};

}  // namespace fovea::FOVEA_SET::driver
