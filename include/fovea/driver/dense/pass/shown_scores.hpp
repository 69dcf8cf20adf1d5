// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that shows scores: nothing is normalized, and there are no values.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/driver/dense/score_tile.hpp>

namespace fovea::FOVEA_SET::driver {

/// A pass over scores that hands those of each row and run of keys to an output.
template <class Call, class Output>
class shown_scores {
public:
    using blocking = key_lanes_of<Call>;
    using tile_type = score_tile<blocking>;
    struct call_type : context_of<Call, blocking> {
        Output const& output;
        call_type(plan::call_plan const& plan, typename Call::spec const& of, typename Call::operands const& on,
                  Output const& to)
            : context_of<Call, blocking>(plan, of, on), output(to) {}
    };
    using partial_sums = no_partial_sums;
    using scratch = typename tile_type::scratch;
    static constexpr bool prefetches_rows = tile_type::prefetches_rows, keeps_scores = false;

    /// The keys of one head.
    struct head_blocks {
        head_keys<blocking> keys;
        next_lines next{};

        static constexpr bool packs = true;
        head_blocks(call_type const& call, arena& memory, index_t entries) : keys(call, memory, entries) {}

        void begin(head_group heads) { keys.begin(heads); }
        index_t first(index_t block) const { return keys.first(block); }
        index_t last(index_t block) const { return keys.last(block); }
        void prepare(index_t block) { keys.prepare(block, next); }
    };

    shown_scores(arena& memory, call_type const& call, partial_sums) : tile_(memory, call) {}

    void begin(call_type const& call, head_group heads, index_t first, index_t count) {
        tile_.begin(call, heads, first, count);
    }
    box span(dense_rows const& call) const { return tile_.span(call); }
    bool whole_panels() const { return tile_.whole_panels(); }

    void take(call_type const& call, block_mask<blocking> const& mask, head_blocks& from, key_run<blocking> const& at,
              scratch& buffers) {
        auto const s = tile_.score(call, mask, from.keys, at, buffers, false, from.next);
        for (index_t r = 0; r < tile_.rows().count; ++r)
            call.output.scores_of_run(place_of(tile_.rows().facts_of(call, r)), s.first, s.scores + r * s.stride,
                                      s.count);
    }
    void finish(call_type const&, head_blocks const&, scratch const&) {}

private:
    tile_type tile_;
};

/// Shows the scores of all pairs of queries and keys, which no mask has touched.
template <class T, class Arch, class Score, class Q, class K, class Output, class Executor>
void show_all_scores(Executor const& executor, workspace& scratch, Score const& score,
                     score_operands<Q, K> const& operands, Output const& output) {
    auto const spec = plan::lower_pairs(score, always_t{});
    using call = plan::score_types<T, Arch, std::remove_const_t<decltype(spec)>, score_operands<Q, K>>;
    using pass = shown_scores<call, Output>;
    auto const plan = plan::make_key_lanes_plan<call>(operands.sizes());
    dense_loop<pass>(typename pass::call_type(plan, spec, operands, output))
        .run(in_tile_configurations_of<call>(executor), scratch, false);
}

}  // namespace fovea::FOVEA_SET::driver
