// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear attention: a running state, updated with one key after the other, takes the place of the keys.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/recurrent/recurrence.hpp>
#include <fovea/driver/run/part.hpp>
#include <fovea/kernel/packing.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/simd/math.hpp>

#include <algorithm>
#include <utility>

namespace fovea::FOVEA_SET::driver {

/// One head, or some columns of its state, and scratch memory.
template <class T>
struct head_task {
    index_t batch, head;  // of the keys
    index_t first, last;  // columns
    index_t row;          // of features, from one to the next
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
        for (index_t t = 0; t < steps; ++t) {
            prepare_key(task, begin + t, t);
            if constexpr (keeps_key_sum)
                for (index_t f = 0, at = t * task.row; f < operands_.key_features(); ++f, ++at)
                    task.sum[f] = (gated ? task.sum[f] * task.gates[at] : task.sum[f]) + task.keys[at];
            if (reads > 0) prepare_reads(task, begin + t, t);
        }
    }

    /// The key and the gates of one position.
    void prepare_key(task_type const& task, index_t position, index_t t) const {
        index_t const features = operands_.key_features();
        kernel::row_coordinates const row{task.batch,          task.head,        position,
                                          operands_.queries(), operands_.keys(), features};
        auto const* const from = operands_.key.place(task.batch, task.head, position, index_t{0});
        kernel::scatter_features<T, Arch>(term_.of_key, kernel::index_environment<T, Arch, index_t>{row, position},
                                          from, features, T{1}, task.keys + t * task.row, 1);
        if constexpr (gated) prepare_gate(task, position, task.gates + t * task.row);
    }

    /// The queries of one position, and the inverse sums of their weights.
    void prepare_reads(task_type const& task, index_t position, index_t t) const {
        prepare_queries(task, position, t);
        if constexpr (keeps_key_sum)
            for (index_t h = t * operands_.group(); h < (t + 1) * operands_.group(); ++h) {
                T const weights =
                    kernel::dot_product<T, Arch>(task.queries + h * task.row, task.sum, operands_.key_features());
                task.inverse_sums[h] = weights == 0 ? T{0} : 1 / weights;
            }
    }

    /// The queries of one position, of all heads that share the state.
    void prepare_queries(task_type const& task, index_t position, index_t t) const {
        index_t const features = operands_.key_features(), group = operands_.group();
        for (index_t h = 0; h < group; ++h) {
            kernel::row_coordinates const row{task.batch,          task.head * group + h, position,
                                              operands_.queries(), operands_.keys(),      features};
            auto const* const from = operands_.query.place(task.batch, row.head, position, index_t{0});
            using element = std::remove_cvref_t<decltype(*from)>;
            kernel::single_environment<T, Arch, element, element> const here{
                {row, index_t{0}}, from, from, features, features};
            kernel::index_environment<T, Arch, index_t> const& base = here;
            kernel::scatter_features<T, Arch>(term_.of_query, base, from, features,
                                              static_cast<T>(evaluate(term_.scale, here)),
                                              task.queries + (t * group + h) * task.row, 1);
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

    /// True where a step has one gate for all features.
    bool has_one_gate() const {
        if constexpr (gated) return aggregate_.gate.decay.features() == 1;
        else return false;
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

/// The recurrent traversal. The state of a head, (feature of the key, feature of the value), is stored in panels of
/// columns; one worker updates all panels of a head, or several workers some of them each. Several steps update the
/// state in one pass where no step needs what the one before it has read.
template <class Call>
class recurrent_loop {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using head_task = driver::head_task<T>;
    static constexpr bool gated = Call::gated, delta_rule = Call::delta_rule, keeps_key_sum = Call::keeps_key_sum;
    static constexpr int vectors = Call::vectors;
    static constexpr index_t width = Call::width, steps_at_once = Call::steps_at_once;
    static constexpr int most_per_pass = Call::most_per_pass;

public:
    recurrent_loop(plan::call_plan const& how, Spec const& spec, Operands const& operands)
        : steps_(spec, operands), operands_(operands), steps_per_pass_(how.steps_per_pass) {}

    template <class Executor>
    void run(Executor const& executor, workspace& scratch) const {
        run(executor, scratch, {0, operands_.batches() * operands_.key_heads()});
    }
    /// Some heads of the keys, which are numbered through all batch elements.
    template <class Executor>
    void run(Executor const& executor, workspace& scratch, index_range numbers) const {
        index_t const heads = numbers.size();
        index_t const panels = std::max<index_t>(ceil_div(operands_.value_features(), width), 1);
        // Several workers of a head share its sum of keys, which was loaded before one of them writes it.
        index_t const most_shares = keeps_key_sum && is_part<Executor> ? 1 : panels;
        index_t const shares = std::clamp<index_t>(executor.workers() / std::max<index_t>(heads, 1), 1, most_shares);
        index_t const panels_of_share = ceil_div(panels, shares);
        T* const sums =
            keeps_key_sum && shares > 1 ? scratch.shared().template take<T>(heads * operands_.key_features()) : nullptr;
        for (index_t i = 0; i < heads && sums != nullptr; ++i)
            load_sum(numbers.first + i, sums + i * operands_.key_features());
        executor.run(scratch.tasks(heads * shares), [&](index_t task, index_t worker) {
            auto& memory = scratch.worker(worker);
            memory.clear();
            index_t const head = task / shares, first = task % shares * panels_of_share;
            if (first < panels)
                run_head(memory, numbers.first + head, first * width,
                         std::min((first + panels_of_share) * width, operands_.value_features()),
                         sums != nullptr ? sums + head * operands_.key_features() : nullptr);
        });
    }

private:
    step_operands<Call> steps_;
    Operands const& operands_;
    index_t steps_per_pass_;

    template <class F>
    void with_past_state(F const& f) const {
        for_each_output(operands_.outputs, [&](auto const& output) {
            if constexpr (gives_past_state<std::remove_cvref_t<decltype(output)>>) f(output.target);
        });
    }
    template <class F>
    void for_present_states(F const& f) const {
        for_each_output(operands_.outputs, [&](auto const& output) {
            if constexpr (takes_present_state<std::remove_cvref_t<decltype(output)>>) f(output.target);
        });
    }

    void load_sum(index_t head, T* sum) const {
        std::fill_n(sum, operands_.key_features(), T{0});
        with_past_state([&](auto const& past) {
            for (index_t f = 0; f < operands_.key_features(); ++f)
                sum[f] = static_cast<T>(
                    past(head / operands_.key_heads(), head % operands_.key_heads(), f, operands_.value_features()));
        });
    }

    void run_head(arena& memory, index_t head, index_t first, index_t last, T const* sum) const {
        index_t const features = operands_.key_features(), group = operands_.group();
        index_t const panels = std::max<index_t>(ceil_div(last - first, width), 1);
        head_task task{.batch = head / operands_.key_heads(),
                       .head = head % operands_.key_heads(),
                       .first = first,
                       .last = last,
                       .row = features,
                       .state = memory.take<T>(panels * features * width),
                       .keys = memory.take<T>(steps_at_once * features),
                       .gates = memory.take<T>(gated ? steps_at_once * features : 0),
                       .values = memory.take<T>(steps_at_once * width),
                       .queries = memory.take<T>(steps_at_once * group * features),
                       .results = memory.take<T>(steps_at_once * group * width),
                       .inverse_sums = memory.take<T>(steps_at_once * group),
                       .retrieved = memory.take<T>(width),
                       .sum = memory.take<T>(features)};
        if (memory.measures()) return;
        if (sum != nullptr) std::copy_n(sum, features, task.sum);
        else if constexpr (keeps_key_sum) load_sum(head, task.sum);
        load_state(task);
        if constexpr (Call::causal) {
            for (index_t n = 0; n < operands_.keys(); n += steps_at_once)
                advance_steps(task, n, std::min(steps_at_once, operands_.keys() - n), group);
        } else {
            for (index_t n = 0; n < operands_.keys(); n += steps_at_once)
                advance_steps(task, n, std::min(steps_at_once, operands_.keys() - n), 0);
            for (index_t n = 0; n < operands_.queries(); n += steps_at_once)
                read_steps(task, n, std::min(steps_at_once, operands_.queries() - n));
        }
        store_state(task);
    }

    void load_state(head_task const& task) const {
        index_t const features = operands_.key_features();
        index_t const panels = std::max<index_t>(ceil_div(task.last - task.first, width), 1);
        std::fill_n(task.state, panels * features * width, T{0});
        with_past_state([&](auto const& past) {
            for_each_element(
                task, [&](index_t f, index_t c, T& s) { s = static_cast<T>(past(task.batch, task.head, f, c)); });
        });
    }
    void store_state(head_task const& task) const {
        for_present_states([&](auto const& present) {
            using element = std::remove_pointer_t<decltype(present.data)>;
            for_each_element(task, [&](index_t f, index_t c, T const& s) {
                present(task.batch, task.head, f, c) = rounded_to<element>(s);
            });
            if (keeps_key_sum && task.first == 0)
                for (index_t f = 0; f < operands_.key_features(); ++f)
                    present(task.batch, task.head, f, operands_.value_features()) = rounded_to<element>(task.sum[f]);
        });
    }
    template <class F>
    void for_each_element(head_task const& task, F const& f) const {
        index_t const features = operands_.key_features();
        for (index_t row = 0; row < features; ++row)
            for (index_t c = task.first; c < task.last; ++c)
                f(row, c, task.state[((c - task.first) / width * features + row) * width + (c - task.first) % width]);
    }

    /// Updates the state with a run of positions; at each, `reads` queries, a whole group or none, read it.
    void advance_steps(head_task const& task, index_t begin, index_t steps, index_t reads) const {
        index_t const features = operands_.key_features();
        steps_.prepare(task, begin, steps, reads);
        for_panels(task, [&](T* state, index_t column) {
            steps_.prepare_values(task, begin, steps, column);
            kernel::state_steps<T> at{task.keys, task.gates, task.values, task.queries, task.results, features, reads};
            auto const step_over = [&](index_t n) {
                at.keys += n * features;
                at.gates += gated ? n * features : 0;
                at.values += n * width;
                at.queries += n * reads * features;
                at.results += n * reads * width;
            };
            index_t t = 0;
            if constexpr (!delta_rule)
                for (; t + most_per_pass <= steps && steps_per_pass_ == most_per_pass;
                     t += most_per_pass, step_over(most_per_pass)) {
                    if (reads == 1) kernel::advance<most_per_pass, 1, gated, vectors, T, Arch>(state, at);
                    else kernel::advance<most_per_pass, 0, gated, vectors, T, Arch>(state, at);
                }
            for (; t < steps; ++t, step_over(1)) {
                if constexpr (delta_rule) correct_and_step(task, begin, t, t + 1 < steps, state, at);
                else step(state, at);
            }
            if (reads > 0) write(task, begin, steps, column);
        });
    }

    /// One step of the delta rule. The same pass reads the retrieved value of the next key, unless there are more
    /// queries than one pass has registers for: the others must read the state before the next gate.
    void correct_and_step(head_task const& task, index_t begin, index_t t, bool has_next, T* state,
                          kernel::state_steps<T> const& at) const {
        bool const same_pass = at.heads <= most_per_pass;
        if (t == 0 || !same_pass)
            kernel::gate_and_retrieve<gated, vectors, T, Arch>(state, at.keys, at.gates, at.features, task.retrieved);
        kernel::delta_rule<vectors, T, Arch>(task.retrieved, steps_.rate(task, begin + t), task.values + t * width);
        if (!same_pass || !has_next) return step(state, at);
        with_count(at.heads, [&](auto reads) {
            kernel::advance_and_read<decltype(reads)::value, gated, vectors, T, Arch>(state, at, task.retrieved);
        });
    }

    /// One step; as many queries as one pass has registers for read the state in it, the others in further passes.
    static void step(T* state, kernel::state_steps<T> const& at) {
        constexpr bool gate_here = gated && !delta_rule;
        auto const first = std::min<index_t>(at.heads, most_per_pass);
        with_count(first, [&](auto reads) {
            kernel::advance<1, decltype(reads)::value, gate_here, vectors, T, Arch>(state, at);
        });
        for (index_t h = first; h < at.heads; h += most_per_pass)
            read_some(state, at.queries + h * at.features, at.features, std::min<index_t>(at.heads - h, most_per_pass),
                      at.results + h * width);
    }
    static void read_some(T const* state, T const* queries, index_t features, index_t count, T* results) {
        with_count(count, [&](auto reads) {
            if constexpr (decltype(reads)::value > 0)
                kernel::read_state<decltype(reads)::value, vectors, T, Arch>(state, queries, features, results);
        });
    }
    /// Calls f with n, from 0 to most_per_pass, as a constant.
    template <class F>
    static void with_count(index_t n, F const& f) {
        [&]<int... I>(std::integer_sequence<int, I...>) {
            ((n == I ? f(std::integral_constant<int, I>{}) : void()), ...);
        }(std::make_integer_sequence<int, most_per_pass + 1>{});
    }

    /// The results of a run of queries that all read the state after the last key.
    void read_steps(head_task const& task, index_t begin, index_t steps) const {
        index_t const features = operands_.key_features(), rows = steps * operands_.group();
        for (index_t t = 0; t < steps; ++t) steps_.prepare_reads(task, begin + t, t);
        for_panels(task, [&](T const* state, index_t column) {
            for (index_t i = 0; i < rows; i += most_per_pass)
                read_some(state, task.queries + i * features, features, std::min<index_t>(rows - i, most_per_pass),
                          task.results + i * width);
            write(task, begin, steps, column);
        });
    }

    template <class F>
    void for_panels(head_task const& task, F const& f) const {
        index_t panel = 0;
        for (index_t c = task.first; c < task.last; c += width)
            f(task.state + panel++ * operands_.key_features() * width, c);
    }

    void write(head_task const& task, index_t begin, index_t steps, index_t column) const {
        index_t const group = operands_.group(), columns = std::min(width, task.last - column);
        for (index_t i = 0; i < steps * group; ++i) {
            auto* const to =
                operands_.result.place(task.batch, task.head * group + i % group, begin + i / group, column);
            using element = std::remove_cvref_t<decltype(*to)>;
            T const inverse_sum = keeps_key_sum ? task.inverse_sums[i] : T{1};
            for (index_t c = 0; c < columns; ++c)
                to[c] = rounded_to<element>(task.results[i * width + c] * inverse_sum);
        }
    }
};

}  // namespace fovea::FOVEA_SET::driver
