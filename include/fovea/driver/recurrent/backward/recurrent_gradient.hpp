// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a running state for one head: the states at the ends of its chunks, steps back, and from features of
// queries and keys to these and to tables.
#pragma once

#include <fovea/driver/call/backward/pass_sink.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/recurrent/backward/recurrence_gradient.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/backward/body_gradient.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::driver {

/// The states of all heads, (batch, key head, feature, column): that before the first step, and the gradient of the one
/// after the last, which becomes that of the first. Without memory where no state goes in or out.
template <class T>
struct end_states {
    T const* past = nullptr;
    T* d = nullptr;
};

/// The memory of the sweeps over one head, `run` steps at a time.
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

/// The way back through the maps of a product of all features, scale sum f(q) g(k): one row at a time. `tables` take
/// the gradients of tables.
template <class Call>
class map_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;

public:
    map_gradient(typename Call::spec const& spec, Operands const& x)
        : term_(fovea::detail::scaled_product(spec.score.expression(), unit{})), x_(x) {}

    /// d are the gradients of scale f(q); those of q are written to `to`.
    template <class Tables>
    void query(row_place const& at, T const* d, T* to, Tables const& tables) const {
        auto const body = sum(term_.of_query * placeholders::k);
        auto const* const source = x_.query.place(at.batch, at.head, at.query, index_t{0});
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(term_.scale)>, unit>)
            back<q_t>(body, at, source, d, to, tables);
        else back<q_t>(body * term_.scale, at, source, d, to, tables);
    }
    /// d are the gradients of g(k); those of k are written to `to`.
    template <class Tables>
    void key(row_place const& at, T const* d, T* to, Tables const& tables) const {
        auto const* const source = x_.key.place(at.batch, at.head, at.query, index_t{0});
        back<k_t>(sum(placeholders::q * term_.of_key), at, d, source, to, tables);
    }

private:
    template <class Which, class E, class Q, class K, class Tables>
    void back(E const& e, row_place const& at, Q const* q, K const* k, T* to, Tables const& tables) const {
        index_t const features = x_.key_features();
        std::fill_n(to, features, T{0});
        kernel::row_coordinates const coordinates{at.batch, at.head, at.query, x_.queries(), x_.keys(), features};
        kernel::pair_rows<Q, K> const rows{coordinates, at.query, 0, q, k};
        kernel::head_lanes const one(1);
        auto const features_of = [&](T amount, auto const& body, auto const& over) {
            kernel::feature_gradients<Which, T, Arch>(
                over, body, kernel::pair_amounts<T>{&amount, 1, one}, [&](index_t, index_t) { return rows; },
                {features, features}, false, [&](index_t) { return to; }, tables);
        };
        kernel::single_environment<T, Arch, Q, K> const names{{coordinates, at.query}, q, k, features, features};
        backpropagate(e, names, T{1}, kernel::term_cotangents<T, Tables, decltype(features_of)>{tables, features_of});
    }

    typename Call::term term_;
    Operands const& x_;
};

/// The gradients of numbers of steps: (batch, key head, position, feature), and (batch, key head, position).
template <class T>
struct step_number_gradients {
    T *decay = nullptr, *rate = nullptr;
};

/// The gradient of a running state. A sweep forward reads the state after each key, for the gradients of queries. A
/// sweep back carries the gradient of the state, for those of keys, values, decays and rates.
///
/// Gates and corrections need the state before each step in the sweep back, too: the sweep forward leaves one in `run`
/// steps, from which those between are computed again. Memory, for a worker: 2 run states for run^2 positions.
template <class Call>
class recurrent_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    static constexpr bool gated = Call::gated, corrected = Call::delta_rule, divides = Call::keeps_key_sum;
    static constexpr bool restores = gated || corrected;
    static constexpr index_t most_run = 64;
    using scratch_type = recurrent_head<Call>;

public:
    /// The result among the operands is the gradient of the result.
    recurrent_gradient(typename Call::spec const& spec, Operands const& x, operand_gradients<T> const& rows,
                       step_number_gradients<T> const& steps, end_states<T> const& ends)
        : operands_(spec, x), maps_(spec, x), x_(x), rows_(rows), steps_(steps), ends_(ends) {
        auto const root = static_cast<index_t>(std::sqrt(static_cast<double>(x.keys())));
        run_ = restores ? std::clamp<index_t>(root, 1, most_run) : 16;
    }

    /// `shares` of the heads; share s adds to the tables `tables(s)`.
    template <class Executor, class TablesOf>
    void run(Executor const& executor, workspace& scratch, index_t shares, TablesOf const& tables) const {
        index_t const heads = x_.batches() * x_.key_heads();
        executor.run(shares, [&](index_t share, index_t worker) {
            auto& memory = scratch.worker(worker);
            for (index_t head = share * heads / shares; head < (share + 1) * heads / shares; ++head) {
                memory.clear();
                run_head(memory, head, tables(share));
            }
        });
    }

private:
    template <class Tables>
    void run_head(arena& memory, index_t head, Tables const& tables) const {
        scratch_type const here(x_, memory, head, run_);
        here.begin(ends_, head);
        sweep(here, tables);
        here.leave(ends_, head);
    }

    template <class Tables>
    void sweep(scratch_type const& here, Tables const& tables) const {
        index_t const keys = x_.keys();
        for (index_t n = 0; n < keys; n += run_) {
            index_t const steps = std::min(run_, keys - n);
            if constexpr (restores)
                std::copy_n(here.state, here.shape.size(), here.starts + n / run_ * here.shape.size());
            prepare(here, n, steps, Call::causal ? x_.group() : 0);
            for (index_t t = 0; t < steps; ++t) {
                if constexpr (Call::causal) read<true>(here, n, t, tables);
                else
                    kernel::step_forward<T, Arch>(here.shape, here.state, step(here, n, t), nullptr, nullptr,
                                                  here.sums);
            }
        }
        if constexpr (!Call::causal)
            for (index_t n = 0; n < x_.queries(); ++n) {
                operands_.prepare_queries(here.task, n, 0);
                read<false>(here, n, 0, tables);
            }
        for (index_t n = (keys - 1) / run_ * run_; n >= 0 && keys > 0; n -= run_) {
            index_t const steps = std::min(run_, keys - n);
            prepare(here, n, steps, Call::causal ? x_.group() : 0);
            if constexpr (restores) restore(here, n, steps);
            for (index_t t = steps - 1; t >= 0; --t) back(here, n, t, tables);
        }
    }

    void prepare(scratch_type const& here, index_t begin, index_t steps, index_t reads) const {
        operands_.prepare(here.task, begin, steps, reads);
        index_t const columns = here.shape.columns, left = x_.value_features();
        for (index_t t = 0; t < steps; ++t) {
            T* const to = here.values + t * columns;
            auto const* const from = x_.value.place(here.task.batch, here.task.head, begin + t, index_t{0});
            std::fill_n(to, columns, T{0});
            for (index_t c = 0; c < left; ++c) to[c] = static_cast<T>(from[c]);
            if constexpr (divides) to[left] = T{1};
        }
    }
    T rate(scratch_type const& here, index_t n) const {
        if constexpr (corrected) return operands_.rate(here.task, n);
        else return T{1};
    }
    T const* gate(scratch_type const& here, index_t t) const {
        return gated ? here.task.gates + t * here.shape.features : nullptr;
    }
    T* residual(scratch_type const& here, index_t t) const {
        return corrected ? here.residuals + t * here.shape.columns : nullptr;
    }
    kernel::state_step<T> step(scratch_type const& here, index_t begin, index_t t) const {
        return {here.task.keys + t * here.shape.features, gate(here, t), here.values + t * here.shape.columns,
                rate(here, begin + t), residual(here, t)};
    }
    T const* query(scratch_type const& here, index_t t, index_t h) const {
        return here.task.queries + (t * x_.group() + h) * here.shape.features;
    }
    /// The states before the steps of a run, from that before the first.
    void restore(scratch_type const& here, index_t begin, index_t steps) const {
        index_t const size = here.shape.size();
        std::copy_n(here.starts + begin / run_ * size, size, here.state);
        for (index_t t = 0; t < steps; ++t) {
            std::copy_n(here.state, size, here.states + t * size);
            kernel::step_forward<T, Arch>(here.shape, here.state, step(here, begin, t), nullptr, nullptr, here.sums);
        }
    }

    /// The gradient of what the queries of a position read, over the sum of their weights.
    void begin_read(scratch_type const& here, index_t n, index_t head, T inverse_sum, T of_sum) const {
        auto const* const from = x_.result.place(here.task.batch, head, n, index_t{0});
        index_t const left = x_.value_features();
        std::fill_n(here.e, here.shape.columns, T{0});
        for (index_t c = 0; c < left; ++c) here.e[c] = static_cast<T>(from[c]) * inverse_sum;
        if constexpr (divides) here.e[left] = of_sum;
    }
    T* of_read(scratch_type const& here, index_t n, index_t h) const {
        return here.of_reads + 2 * (n * x_.group() + h);
    }

    /// The queries of a position read the state after a step, which is taken here with Steps: their gradients, and
    /// without it that of the state.
    template <bool Steps, class Tables>
    void read(scratch_type const& here, index_t begin, index_t t, Tables const& tables) const {
        index_t const features = here.shape.features, n = begin + t;
        for (index_t h = 0; h < x_.group(); ++h) {
            kernel::state_read<T> const one{query(here, t, h), here.e};
            T const inverse = divides ? here.task.inverse_sums[t * x_.group() + h] : T{1};
            index_t const head = here.task.head * x_.group() + h;
            begin_read(here, n, head, inverse, T{0});
            if (Steps && h == 0)
                kernel::step_forward<T, Arch>(here.shape, here.state, step(here, begin, t), &one, here.d_features,
                                              here.sums);
            else kernel::read_gradient<T, Arch>(here.shape, here.state, here.e, here.d_features, here.sums);
            if constexpr (divides) {
                T const of_sum = -inverse * kernel::dot_product<T, Arch>(one.query, here.d_features, features);
                here.e[x_.value_features()] = of_sum;
                for (index_t f = 0; f < features; ++f)
                    here.d_features[f] += of_sum * here.state[f * here.shape.columns + x_.value_features()];
                of_read(here, n, h)[0] = inverse;
                of_read(here, n, h)[1] = of_sum;
            }
            if constexpr (!Steps) kernel::add_read<T, Arch>(here.shape, one, here.d_state);
            maps_.query({here.task.batch, head, n}, here.d_features,
                        rows_.query.place(here.task.batch, head, n, index_t{0}), tables);
        }
    }

    /// One step of the sweep back.
    template <class Tables>
    void back(scratch_type const& here, index_t begin, index_t t, Tables const& tables) const {
        auto const& task = here.task;
        index_t const n = begin + t, features = here.shape.features;
        kernel::state_read<T> one{nullptr, here.e};
        for (index_t h = Call::causal ? x_.group() - 1 : -1; h >= 0; --h) {
            T const* const of = divides ? of_read(here, n, h) : nullptr;
            begin_read(here, n, task.head * x_.group() + h, divides ? of[0] : T{1}, divides ? of[1] : T{0});
            one.query = query(here, t, h);
            if (h > 0) kernel::add_read<T, Arch>(here.shape, one, here.d_state);
        }
        kernel::step_gradients<T> d{here.d_features, here.d_value, here.d_gate};
        kernel::step_back<T, Arch>(here.shape, here.d_state, restores ? here.states + t * here.shape.size() : nullptr,
                                   step(here, begin, t), Call::causal ? &one : nullptr, d, here.sums);
        index_t const place = (task.batch * x_.key_heads() + task.head) * x_.keys() + n;
        if (gated && steps_.decay != nullptr) std::copy_n(here.d_gate, features, steps_.decay + place * features);
        if (corrected && steps_.rate != nullptr) steps_.rate[place] = d.scale;
        std::copy_n(here.d_value, x_.value_features(), rows_.value.place(task.batch, task.head, n, index_t{0}));
        maps_.key({task.batch, task.head, n}, here.d_features, rows_.key.place(task.batch, task.head, n, index_t{0}),
                  tables);
    }

    step_operands<Call> operands_;
    map_gradient<Call> maps_;
    Operands const& x_;
    operand_gradients<T> rows_;
    step_number_gradients<T> steps_;
    end_states<T> ends_;
    index_t run_;  // steps whose operands are prepared together
};

}  // namespace fovea::FOVEA_SET::driver
