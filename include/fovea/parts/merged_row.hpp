// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One row of partial results over pieces of keys: sums of values by a normalizer that merges, or the value of the one
// key that a normalizer selects.
#pragma once

#include <fovea/driver/dense/dense_context.hpp>

#include <algorithm>
#include <type_traits>

namespace fovea::FOVEA_SET::driver {

/// What the types say of a call whose partial results are merged: a key in each lane, so that what is left of a row
/// lies together.
template <class T, class Arch, class Spec, class Operands>
struct partial_call : plan::dense_call<T, Arch, Spec, Operands> {
    static constexpr bool may_take_query_lanes = false, packs_keys = true;
    static constexpr bool takes(plan::traversal by) { return by == plan::traversal::key_lanes; }
};

/// The steps of a row; its call is a dense_context.
template <class Call>
struct merged_row {
    using T = typename Call::number;
    using normalizing = typename Call::normalizing;
    using state = typename normalizing::state;
    using row = partial_row<T>;

    /// Whether partial results can be merged, and sent.
    static constexpr bool merges = (Call::may_split_keys || Call::selects) && std::is_trivially_copyable_v<state>;

    /// After the keys of a piece: the value of a selected key is taken along.
    template <class Context>
    static void end_of_piece([[maybe_unused]] Context const& context, [[maybe_unused]] kernel::row_facts const& facts,
                             [[maybe_unused]] row const& at) {
        if constexpr (Call::selects) {
            index_t const key = context.normalizer(facts).selected(state_of(at, 0));
            for (index_t c = 0; c < context.value_features; ++c)
                at.sums[c] = key < 0 ? T{0}
                                     : static_cast<T>(context.operands.value(
                                           facts.batch, facts.head / context.tile_heads, key - context.first_key, c));
        }
    }

    /// The second of two becomes part of the first, whose keys come before.
    template <class Context>
    static void merge(Context const& context, kernel::row_facts const& facts, row two) {
        if constexpr (Call::selects) {
            decltype(auto) normalizer = context.normalizer(facts);
            index_t const before = normalizer.selected(state_of(two, 0));
            normalizer.merge(state_of(two, 0), state_of(two, 1));
            if (normalizer.selected(state_of(two, 0)) != before)
                std::copy_n(two.sums + two.sum_stride, two.width, two.sums);
        } else {
            two.ends = false;
            context.sums.merge_splits(context, facts, two);
        }
    }

    /// Writes the result.
    template <class Context>
    static void finish(Context const& context, kernel::row_facts const& facts, row const& at) {
        if constexpr (Call::selects) {
            auto* const to = context.operands.result.place(facts.batch, facts.head, facts.q_idx, 0);
            for (index_t c = 0; c < context.value_features; ++c)
                to[c] = static_cast<std::remove_cvref_t<decltype(*to)>>(at.sums[c]);
        } else {
            context.sums.merge_splits(context, facts, at);
        }
    }

private:
    static state& state_of(row const& at, index_t n) {
        return *reinterpret_cast<state*>(at.states + n * at.state_stride);
    }
};

}  // namespace fovea::FOVEA_SET::driver
