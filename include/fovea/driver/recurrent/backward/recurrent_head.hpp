// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of one head while the gradient of its running state is computed, and the states at its ends.
#pragma once

#include <fovea/driver/recurrent/backward/recurrence_gradient.hpp>
#include <fovea/driver/recurrent/step_operands.hpp>
#include <fovea/driver/run/arena.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The states of all heads, (batch, key head, feature, column): that before the first step, and the gradient of the one
/// after the last, which becomes that of the first. Without memory where no state goes in or out.
template <class T>
struct end_states {
    T const* past = nullptr;
    T* d = nullptr;
};

/// What the sweeps over one head keep, `run` steps at a time.
template <class Call>
class recurrent_head {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    static constexpr bool gated = Call::gated, corrected = Call::delta_rule, divides = Call::keeps_key_sum;
    static constexpr bool restores = gated || corrected;

public:
    kernel::state_shape shape;
    head_task<T> task;
    T *state, *d_state;      // each a state
    T* starts;               // (runs): the state before each run of steps
    T* states;               // (run): the state before each of its steps
    T *residuals, *values;   // (run, columns)
    T *e, *d_value;          // (columns): e is the gradient of what a query reads
    T *d_features, *d_gate;  // (features)
    T* of_reads;             // (queries, group, 2): 1 over the sum of weights, and the gradient of that sum
    kernel::sums_of_rows<T, Arch> sums;

    /// A head whose state, and its gradient, begin as zeros.
    recurrent_head(typename Call::operands const& x, arena& memory, index_t head, index_t run)
        : shape{x.key_features(), 0}, task{}, columns_(x.value_features() + (divides ? 1 : 0)) {
        shape.columns = round_up(columns_, kernel::pack<T, Arch>::lanes);
        index_t const features = shape.features, columns = shape.columns, size = shape.size(), group = x.group();
        auto const take = [&](index_t count) { return memory.template take<T>(count); };
        task.batch = head / x.key_heads();
        task.head = head % x.key_heads();
        task.keys = take(run * features);
        task.gates = take(gated ? run * features : 0);
        task.queries = take(run * group * features);
        task.inverse_sums = take(run * group);
        task.sum = take(features);
        state = take(size);
        d_state = take(size);
        starts = take(restores ? ceil_div(x.keys(), run) * size : 0);
        states = take(restores ? run * size : 0);
        residuals = take(corrected ? run * columns : 0);
        values = take(run * columns);
        e = take(columns);
        d_value = take(columns);
        d_features = take(features);
        d_gate = take(restores ? features : 0);
        sums = {take(kernel::sums_of_rows<T, Arch>::numbers(features))};
        std::fill_n(sums.all, sums.numbers(features), T{0});
        of_reads = take(divides ? 2 * x.queries() * group : 0);
        std::fill_n(state, size, T{0});
        std::fill_n(d_state, size, T{0});
        std::fill_n(task.sum, features, T{0});
    }

    /// Begins with the states of this head, if there are any.
    void begin(end_states<T> const& ends, index_t head) const {
        if (ends.past == nullptr) return;
        for (index_t f = 0; f < shape.features; ++f) {
            std::copy_n(ends.past + row(head, f), columns_, state + f * shape.columns);
            std::copy_n(ends.d + row(head, f), columns_, d_state + f * shape.columns);
            if constexpr (divides) task.sum[f] = ends.past[row(head, f) + columns_ - 1];
        }
    }
    /// Leaves the gradient of the state before the first step.
    void leave(end_states<T> const& ends, index_t head) const {
        if (ends.d == nullptr) return;
        for (index_t f = 0; f < shape.features; ++f)
            std::copy_n(d_state + f * shape.columns, columns_, ends.d + row(head, f));
    }

private:
    index_t row(index_t head, index_t feature) const { return (head * shape.features + feature) * columns_; }

    index_t columns_;
};

}  // namespace fovea::FOVEA_SET::driver
