// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification with a running state for some adjacent positions of a sequence: tables for each step are cut.
#pragma once

#include <fovea/spec/part/of_part.hpp>
#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// An aggregate with the steps first ... first + count - 1 of `all`.
template <class Aggregate>
Aggregate at_steps(Aggregate aggregate, index_t first, index_t count, index_t all) {
    if constexpr (recurrent_aggregator<Aggregate>) {
        if constexpr (Aggregate::gated) aggregate.gate.decay = aggregate.gate.decay.part(first, count, all, "gated");
        if constexpr (Aggregate::corrected)
            aggregate.correction.rate = aggregate.correction.rate.part(first, count, all, "delta");
    }
    return aggregate;
}

/// The order of steps is the same from whatever position they are counted.
struct counted_in_steps : counted_from_first {
    template <class E>
    static constexpr bool changes = counted_from_first::changes<E> && !is_causal_predicate<E>;
};
}  // namespace detail

/// of_steps: what a specification with a running state is for some adjacent queries and keys, which a call numbers from
/// 0. Tables for each step have those of `steps` positions, of which the keys are `run.count` from `run.place` on.
template <attention_spec A>
constexpr auto of_steps(A const& a, part_place const& at, position_run const& run, index_t steps) {
    return rewritten(a, detail::counted_in_steps{{at}},
                     [&](auto const& aggregate) { return detail::at_steps(aggregate, run.place, run.count, steps); });
}

}  // namespace fovea::FOVEA_SET
