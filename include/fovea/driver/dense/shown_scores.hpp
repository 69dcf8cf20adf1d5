// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that shows scores: nothing is normalized, and there are no values.
#pragma once

#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/key_lanes_spec.hpp>
#include <fovea/driver/dense/key_lanes_tile.hpp>

namespace fovea::FOVEA_SET::driver {

/// A pass over scores that hands those of each row and run of keys to an output.
template <class Call, class Output>
class shown_scores {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using tile_type = key_lanes_tile<T, Arch>;

public:
    struct call : key_lanes_context<Call> {
        Output const& output;
        call(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& all,
             Output const& to)
            : key_lanes_context<Call>(plan, of, all, key_lanes_scores<Call>::functions), output(to) {}
    };
    using shape = typename tile_type::shape;
    using partial_sums = no_partial_sums;
    using scratch = typename tile_type::scratch;
    using key_run = driver::key_run<shape>;
    static constexpr bool prefetches_rows = tile_type::prefetches_rows;

    /// The keys of one head.
    struct key_blocks {
        packed_keys<T, Arch> keys;
        next_lines next{};

        static constexpr bool packs = true;
        key_blocks(call const& all, arena& memory, index_t slots) : keys(all, memory, slots) {}

        void begin(head_group heads) { keys.begin(heads); }
        index_t first(index_t block) const { return keys.first(block); }
        index_t last(index_t block) const { return keys.last(block); }
        void prepare(index_t block) { keys.prepare(block, next); }
    };

    shown_scores(arena& memory, call const& all, partial_sums) : tile_(memory, all) {}

    void begin(call const& all, head_group heads, index_t first, index_t count) {
        tile_.begin(all, heads, first, count);
    }
    box span(dense_rows const& all) const { return tile_.span(all); }
    bool whole_panels() const { return tile_.whole_panels(); }

    void take(call const& all, block_mask<shape> const& mask, key_blocks& from, key_run const& at, scratch& of) {
        tile_.score(all, mask, from.keys, at, of, false, from.next);
        index_t const column = at.granules.first * shape::granule, begin = from.first(at.block);
        index_t const count = std::min(at.granules.last * shape::granule, from.last(at.block) - begin) - column;
        for (index_t r = 0; r < tile_.rows().count; ++r)
            all.output.scores_of_run(place_of(tile_.rows().facts[r]), begin + column,
                                     of.scores + r * of.stride + column, count);
    }
    void finish(call const&) {}

private:
    tile_type tile_;
};

/// Shows the scores of all pairs of queries and keys, which no mask has touched.
template <class T, class Arch, class Score, class Q, class K, class Output, class Executor>
void show_all_scores(Executor const& executor, workspace& scratch, Score const& score,
                     score_operands<Q, K> const& operands, Output const& output) {
    auto const spec = plan::lower_pairs(score, always_t{});
    using call = plan::score_call<T, Arch, std::remove_const_t<decltype(spec)>, score_operands<Q, K>>;
    using pass = shown_scores<call, Output>;
    auto const how = plan::make_key_lanes_plan<call>(operands.sizes());
    dense_loop<pass>(typename pass::call(how, spec, operands, output)).run(executor, scratch, false);
}

}  // namespace fovea::FOVEA_SET::driver
