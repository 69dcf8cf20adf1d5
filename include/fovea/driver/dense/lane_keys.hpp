// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/key_terms.hpp>
#include <fovea/driver/row_range.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// The keys and values of one head where they lie, block by block, for tiles with a query in each lane.
template <class Call>
class lane_keys {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using shape = plan::lane_tile<T, Arch>;
    static constexpr index_t indices_per_key = plan::count_of<decltype(dense_context<Call>::indices_type::keys)>;
    static constexpr index_t terms_per_key = plan::count_of<decltype(decltype(Call::recipe::score.parts)::keys)>;

public:
    static constexpr bool packs = false;

    lane_keys(dense_context<Call> const& call, arena& memory, index_t)
        : call_(call),
          blocks_((call.operands.keys() + shape::block_keys - 1) / shape::block_keys),
          finite_(memory.template take<signed char>(blocks_)),
          terms_(memory.template take<T>(blocks_ * terms_per_key * shape::block_keys)),
          indices_(memory.template take<index_t>(blocks_ * indices_per_key * shape::block_keys)),
          has_terms_(memory.template take<bool>(blocks_)) {}

    void begin(head_group head) {
        head_ = head;
        std::fill_n(finite_, blocks_, static_cast<signed char>(-1));
        std::fill_n(has_terms_, blocks_, false);
    }

    index_t first(index_t block) const { return block * shape::block_keys; }
    index_t last(index_t block) const { return std::min(first(block) + shape::block_keys, call_.operands.keys()); }

    /// The terms of a block are computed, and the next block is prefetched while this one is used, for the first rows
    /// or where the second cache does not keep it.
    void prepare(index_t block, bool first_rows) {
        auto const& all = call_.operands;
        if (terms_per_key + indices_per_key > 0 && !std::exchange(has_terms_[block], true)) {
            auto const facts = call_.facts(head_, 0);
            compute_key_terms<T, Arch>(call_.recipe.score.parts.keys, facts, all.key, range(block), terms_of(block),
                                       shape::block_keys);
            compute_index_terms<T, Arch>(call_.indices.keys, facts, first(block), last(block), indices_of(block),
                                         shape::block_keys);
        }
        if (block + 1 < blocks_ && (first_rows || !stays_near())) {
            prefetch_keys = lines_of(all.key, range(block + 1));
            prefetch_values = lines_of(all.value, range(block + 1));
        }
    }

    T const* terms(index_t block) const { return terms_of(block); }            // (terms, block_keys)
    index_t const* indices(index_t block) const { return indices_of(block); }  // (index terms, block_keys)
    bool finite(index_t block) const { return all_finite<T, Arch>(finite_[block], call_.operands.value, range(block)); }

    T const* key(index_t position) const {
        return call_.operands.key.place(head_.batch, call_.key_head(head_), position, 0);
    }
    index_t key_stride() const { return call_.operands.key.stride(2); }
    T const* value(index_t position) const {
        return call_.operands.value.place(head_.batch, call_.key_head(head_), position, 0);
    }

    kernel::prefetch_queue prefetch_keys{}, prefetch_values{};  // of the next block

private:
    T* terms_of(index_t block) const { return terms_ + block * terms_per_key * shape::block_keys; }
    index_t* indices_of(index_t block) const { return indices_ + block * indices_per_key * shape::block_keys; }
    row_range range(index_t block) const { return {head_.batch, call_.key_head(head_), first(block), last(block)}; }

    bool stays_near() const {
        constexpr index_t kept = 1 << 18;  // bytes
        auto const& all = call_.operands;
        return all.keys() * (all.features() + all.value_features()) * static_cast<index_t>(sizeof(T)) <= kept;
    }

    dense_context<Call> const& call_;
    head_group head_{};
    index_t blocks_;
    signed char* finite_;  // (blocks) the values: -1 unknown
    T* terms_;             // (blocks, terms, block_keys)
    index_t* indices_;     // (blocks, index terms, block_keys)
    bool* has_terms_;      // (blocks)
};

}  // namespace fovea::FOVEA_SET::driver
