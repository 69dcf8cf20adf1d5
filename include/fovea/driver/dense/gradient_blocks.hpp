// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys and values of one head in the gradient pass, block by block, and the sums of their gradients.
#pragma once

#include <fovea/driver/all_finite.hpp>
#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/dense/head_rows.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/lowered_spec.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// dO V^T as a call of scores: values stand for keys.
template <class Call, class ValueRows, class D>
struct values_of_gradient {
    using product = decltype(plan::lowered_score{plan::lower_for<false>(sum(q_t{} * k_t{})), always_t{}});
    using operands = score_operands<D, ValueRows>;
    using call = plan::score_call<typename Call::number, typename Call::architecture, product, operands>;
};

/// The keys and values of one head, and their gradients, which are summed over all heads that share them.
template <class Call, class Shape>
class gradient_blocks {
    using T = typename Shape::number;
    using Arch = typename Shape::architecture;

public:
    head_keys<Shape> keys, values;
    next_lines next{};

    static constexpr bool packs = !Shape::queries_in_lanes;
    gradient_blocks(Call const& call, arena& memory, index_t slots)
        : keys(call, memory, slots),
          values(call.values, memory, slots),
          call_(call),
          d_keys_(memory.template take<T>(call.keys * width(call.key_features))),
          d_values_(memory.template take<T>(call.keys * width(call.values.key_features))),
          finite_(memory.template take<answer>(keys.blocks())) {}

    void begin(head_group heads) {
        keys.begin(heads);
        values.begin(heads);
        if (heads.index % call_.per_key_head != 0) return;  // another head that shares them
        std::fill_n(d_keys_, call_.keys * width(call_.key_features), T{0});
        std::fill_n(d_values_, call_.keys * width(call_.values.key_features), T{0});
        std::fill_n(finite_, keys.blocks(), answer::unknown);
    }
    index_t first(index_t block) const { return keys.first(block); }
    index_t last(index_t block) const { return keys.last(block); }
    void prepare(index_t block) {
        keys.prepare(block, next);
        values.prepare(block, next);
    }
    void finish() const {
        auto const heads = keys.heads();
        if ((heads.index + 1) % call_.per_key_head != 0) return;
        for (index_t k = 0; k < call_.keys; ++k) {
            std::copy_n(d_key(k), call_.key_features,
                        call_.further.d_key.place(heads.batch, call_.key_head(heads), k, 0));
            std::copy_n(d_value(k), call_.values.key_features,
                        call_.further.d_value.place(heads.batch, call_.key_head(heads), k, 0));
        }
    }

    T* d_key(index_t key) const { return d_keys_ + key * width(call_.key_features); }
    T* d_value(index_t key) const { return d_values_ + key * width(call_.values.key_features); }

    /// True where all keys of a block are finite. Found when it is first asked.
    bool finite(index_t block) {
        auto& known = finite_[block];
        if (known == answer::unknown)
            known = all_finite<T, Arch>(call_.operands.key, keys.range(block)) ? answer::yes : answer::no;
        return known == answer::yes;
    }

private:
    enum class answer : char { unknown, no, yes };
    static index_t width(index_t features) { return round_up(features, kernel::pack<T, Arch>::lanes); }

    Call const& call_;
    T *d_keys_, *d_values_;  // (keys, width)
    answer* finite_;         // (blocks)
};

/// Runs a pass whose blocks sum over all rows that share keys: each key head is one task.
template <class Pass, class Executor>
void run_key_heads(typename Pass::call_type const& call, Executor const& executor, workspace& scratch) {
    dense_loop<Pass> const loop(call);
    index_t const key_heads = call.batches * call.head_groups / call.per_key_head;
    executor.run(key_heads, [&](index_t task, index_t worker) {
        auto& memory = scratch.worker(worker);
        memory.clear();
        loop.run_heads(memory, {task * call.per_key_head, (task + 1) * call.per_key_head},
                       {0, ceil_div(call.rows, Pass::shape::block_rows)}, {0, loop.key_blocks()}, {});
    });
}

}  // namespace fovea::FOVEA_SET::driver
