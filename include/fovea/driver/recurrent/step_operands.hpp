// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of the recurrent traversal: mapped and converted, a few positions of one head at a time.
#pragma once

#include <fovea/driver/recurrent/recurrence.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/plan/call_types.hpp>
#include <fovea/simd/math.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// One head, or some columns of its state, and scratch memory.
template <class T>
struct head_task {
    index_t batch, head;  // of the keys
    index_t first, last;  // columns
    T* state;             // (panels, features, width)
    T* keys;              // (steps, features)
    T* gates;             // (steps, features)
    T* values;            // (steps, width)
    T* queries;           // (steps, group, features)
    T* results;           // (steps, group, width)
    T* inverse_sums;      // (steps, group): 1 over the sum of the weights of a query
    T* retrieved;         // (width): state^T key
    T* sum;               // (features): the sum of the keys so far
};

/// The operands of up to steps_at_once steps, adjacent positions of the keys of one head and of the query heads that
/// share them. They are prepared together; the recurrence itself is sequential.
template <class Call>
class step_operands {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    static constexpr bool gated = Call::gated, keeps_key_sum = Call::keeps_key_sum;
    static constexpr index_t width = Call::width;

public:
    using task_type = head_task<T>;

    step_operands(Spec const& spec, Operands const& operands)
        : term_(detail::scaled_product(spec.score.expression(), unit{})),
          aggregate_(core_of(spec.aggregate)),
          operands_(operands) {}

    /// The keys and gates of a run of positions, the running sum of the keys, and, if `reads` > 0, the queries.
    void prepare(task_type const& task, index_t begin, index_t steps, index_t reads) const {
        index_t const features = operands_.key_features();
        for (index_t t = 0; t < steps; ++t) {
            T* const key = task.keys + t * features;
            kernel::row_facts const row{task.batch,          task.head,        begin + t,
                                        operands_.queries(), operands_.keys(), features};
            auto const* const from = operands_.key.place(task.batch, task.head, begin + t, index_t{0});
            kernel::scatter_features<T, Arch>(term_.of_key, kernel::index_environment<T, Arch, index_t>{row, begin + t},
                                              from, features, T{1}, key, 1);
            if constexpr (gated) prepare_gate(task, begin + t, task.gates + t * features);
            if constexpr (keeps_key_sum)
                for (index_t f = 0; f < features; ++f)
                    task.sum[f] = (gated ? task.sum[f] * task.gates[t * features + f] : task.sum[f]) + key[f];
            if (reads > 0) prepare_queries(task, begin + t, t);
        }
    }

    /// The queries of one position, of all heads that share the state, and the inverse sums of their weights.
    void prepare_queries(task_type const& task, index_t position, index_t t) const {
        index_t const features = operands_.key_features(), group = operands_.group();
        for (index_t h = 0; h < group; ++h) {
            kernel::row_facts const row{task.batch,          task.head * group + h, position,
                                        operands_.queries(), operands_.keys(),      features};
            auto const* const from = operands_.query.place(task.batch, row.head, position, index_t{0});
            using element = std::remove_cvref_t<decltype(*from)>;
            kernel::single_environment<T, Arch, element, element> const here{
                {row, index_t{0}}, from, from, features, features};
            kernel::index_environment<T, Arch, index_t> const& base = here;
            T* const to = task.queries + (t * group + h) * features;
            kernel::scatter_features<T, Arch>(term_.of_query, base, from, features,
                                              static_cast<T>(evaluate(term_.scale, here)), to, 1);
            if constexpr (keeps_key_sum) {
                T const weights = kernel::dot_product<T, Arch>(to, task.sum, features);
                task.inverse_sums[t * group + h] = weights == 0 ? T{0} : 1 / weights;
            }
        }
    }

    /// The columns of one panel of the values of a run of positions.
    void prepare_values(task_type const& task, index_t begin, index_t steps, index_t column) const {
        using vector = kernel::pack<T, Arch>;
        for (index_t t = 0; t < steps; ++t) {
            auto const* const from = operands_.value.place(task.batch, task.head, begin + t, column);
            for (index_t c = 0; c < width; c += vector::lanes) {
                index_t const left = std::max<index_t>(task.last - column - c, 0);
                auto const some = left > 0 ? kernel::load_as<T, Arch>(from + c, left) : vector(T{0});
                some.store(task.values + t * width + c);
            }
        }
    }

    /// The rate of the delta rule at one position.
    T rate(task_type const& task, index_t position) const {
        return static_cast<T>(*aggregate_.correction.rate.row(task.batch, task.head, position));
    }

private:
    void prepare_gate(task_type const& task, index_t position, T* gate) const {
        using vector = kernel::pack<T, Arch>;
        index_t const features = operands_.key_features();
        auto const* const decay = aggregate_.gate.decay.row(task.batch, task.head, position);
        if (aggregate_.gate.decay.features() == 1) {
            T const same = kernel::lanes_of<T, Arch>::to_array(kernel::exp(vector(static_cast<T>(*decay))))[0];
            std::fill_n(gate, features, same);
        } else {
            for (index_t f = 0; f < features; f += vector::lanes)
                kernel::lanes_of<T, Arch>::store(kernel::exp(kernel::load_as<T, Arch>(decay + f, features - f)),
                                                 gate + f, features - f);
        }
    }

    typename Call::term term_;
    typename Call::aggregate aggregate_;
    Operands const& operands_;
};

}  // namespace fovea::FOVEA_SET::driver
