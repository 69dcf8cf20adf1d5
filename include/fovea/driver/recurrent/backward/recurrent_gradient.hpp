// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a running state: a sweep over its chunks forward and one back, or all chunks at once.
#pragma once

#include <fovea/driver/call/backward/pass_sink.hpp>
#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/recurrent/backward/chunk_gradient.hpp>
#include <fovea/driver/recurrent/backward/recurrent_head.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/call/check_gradient.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::driver {

/// The gradient of a running state, in chunks of steps. Each head is a task. A sweep forward leaves the state before
/// each chunk; a sweep back carries the gradient of the state. Memory, for a worker: states before as many chunks as
/// there are in a run, and before each run.
///
/// Where there are more threads than heads, chunks are tasks, too: what each adds to the state is computed for itself,
/// then added up, step by step only from chunk to chunk; the same for the gradient of the state; then each has what it
/// needs. The bits are the same. Memory: two states for each chunk. A correction, whose steps depend on the state, and
/// tables, to which each task would add, are left to the sweeps.
template <class Call>
class recurrent_gradient {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Operands = typename Call::operands;
    static constexpr index_t chunk = Call::steps_at_once;
    using scratch_type = recurrent_head<Call>;
    using rows = kernel::padded_rows<T>;

public:
    /// The result among the operands is the gradient of the result.
    recurrent_gradient(typename Call::spec const& spec, Operands const& x, operand_gradients<T> const& to,
                       step_number_gradients<T> const& steps, end_states<T> const& ends)
        : chunk_(spec, x, to, steps),
          x_(x),
          ends_(ends),
          heads_(x.batches() * x.key_heads()),
          chunks_(ceil_div(x.keys(), chunk)),
          run_(std::max<index_t>(static_cast<index_t>(std::sqrt(static_cast<double>(chunks_))), 1)) {}

    /// `shares` of the heads; share s adds to the tables `tables(s)`.
    template <class Executor, class TablesOf>
    void run(Executor const& executor, workspace& scratch, index_t shares, TablesOf const& tables) const {
        if constexpr (Call::causal && !Call::delta_rule)
            if (heads_ < executor.workers() && chunks_ > 1 && !tables(index_t{0}).any())
                return run_chunks(executor, scratch, tables(index_t{0}));
        executor.run(shares, [&](index_t share, index_t worker) {
            auto& memory = scratch.worker(worker);
            for (index_t head = share * heads_ / shares; head < (share + 1) * heads_ / shares; ++head) {
                memory.clear();
                scratch_type const here(x_, memory, head, run_, ceil_div(chunks_, run_));
                here.begin(ends_, head);
                sweep(here, tables(share));
                here.leave(ends_, head);
            }
        });
    }

private:
    template <class Tables>
    void sweep(scratch_type const& here, Tables const& tables) const {
        index_t const keys = x_.keys(), run = run_ * chunk, size = here.size();
        for (index_t n = 0; n < keys; n += run) {
            std::copy_n(here.state.first, size, here.starts.first + n / run * size);
            for (index_t m = n; m < std::min(n + run, keys); m += chunk)
                chunk_.template advance<true>(here, m, steps_from(m));
        }
        if constexpr (!Call::causal)
            for (index_t n = 0; n < x_.queries(); n += chunk)
                chunk_.read(here, here.state, n, std::min(chunk, x_.queries() - n), tables);
        for (index_t n = (keys - 1) / run * run; n >= 0 && keys > 0; n -= run) {
            rows const first{here.starts.first + n / run * size, here.columns};
            index_t const last = (std::min(n + run, keys) - 1) / chunk * chunk;
            if (last > n) std::copy_n(first.first, size, here.state.first);
            for (index_t m = n; m < last; m += chunk) {
                std::copy_n(here.state.first, size, here.states.first + (m - n) / chunk * size);
                chunk_.template advance<false>(here, m, chunk);
            }
            if (last > n) std::copy_n(here.state.first, size, here.states.first + (last - n) / chunk * size);
            for (index_t m = last; m >= n; m -= chunk) {
                rows const before{here.states.first + (m - n) / chunk * size, here.columns};
                chunk_.template back<true>(here, m == n ? first : before, here.d_state, m, steps_from(m), tables);
            }
        }
    }
    index_t steps_from(index_t n) const { return std::min(chunk, x_.keys() - n); }

    template <class Executor, class Tables>
    void run_chunks(Executor const& executor, workspace& scratch, Tables const& tables) const {
        index_t const features = scratch_type::padded_features(x_), columns = scratch_type::padded_columns(x_),
                      size = features * columns, all = heads_ * chunks_;
        T *const states = scratch.shared().template take<T>(all * size),
                 *const d_states = scratch.shared().template take<T>(all * size),
                 *const left = scratch.shared().template take<T>(Call::gated ? all * features : 0);
        auto const of = [&](T* from, index_t n) { return rows{from + n * size, columns}; };
        index_t const parts = std::min(chunks_, ceil_div(4 * executor.workers(), heads_));
        auto const for_each_chunk = [&](auto const& f) {  // f(memory of the head, chunk, its first step, its steps)
            executor.run(heads_ * parts, [&](index_t task, index_t worker) {
                auto& memory = scratch.worker(worker);
                memory.clear();
                index_t const head = task / parts, part = task % parts;
                scratch_type const here(x_, memory, head, 0, 0);
                for (index_t c = part * chunks_ / parts; c < (part + 1) * chunks_ / parts; ++c)
                    f(here, head * chunks_ + c, c * chunk, steps_from(c * chunk));
            });
        };
        // The sum before each chunk, or behind it, takes the place of what it adds: rows of the state are tasks.
        auto const add_up = [&](T* sums, T const* begin, T* end, bool back) {
            index_t const blocks = features / kernel::chunk_tile;
            executor.run(heads_ * blocks, [&](index_t task, index_t worker) {
                auto& memory = scratch.worker(worker);
                memory.clear();
                T* const sum = memory.template take<T>(columns);
                index_t const head = task / blocks, first = task % blocks * kernel::chunk_tile;
                for (index_t f = first; f < first + kernel::chunk_tile; ++f) {
                    scratch_type::load_row(x_, begin, head, f, sum);
                    for (index_t i = 0; i < chunks_; ++i) {
                        index_t const n = head * chunks_ + (back ? chunks_ - 1 - i : i);
                        kernel::exchange_sum<T, Arch>(columns, Call::gated ? left[n * features + f] : T{1},
                                                      of(sums, n).row(f), sum);
                    }
                    scratch_type::store_row(x_, sum, head, f, end);
                }
            });
        };
        for_each_chunk([&](scratch_type const& here, index_t n, index_t first, index_t steps) {
            chunk_.add_keys(here, first, steps, of(states, n), left + (Call::gated ? n * features : 0));
        });
        add_up(states, ends_.past, nullptr, false);
        for_each_chunk([&](scratch_type const& here, index_t n, index_t first, index_t steps) {
            chunk_.add_queries(here, of(states, n), first, steps, of(d_states, n));
        });
        add_up(d_states, ends_.d, ends_.d, true);
        for_each_chunk([&](scratch_type const& here, index_t n, index_t first, index_t steps) {
            chunk_.template back<false>(here, of(states, n), of(d_states, n), first, steps, tables);
        });
    }

    chunk_gradient<Call> chunk_;
    Operands const& x_;
    end_states<T> ends_;
    index_t heads_, chunks_, run_;  // all heads, chunks of each, and those of a run
};

/// The gradients of queries, keys and values, in scratch memory; those of tables, decays and rates are added to `sums`.
template <class T, class Arch, class Executor, class A, class Bound, class Sums, class... Asked>
operand_gradients<T> run_recurrent_pass(Executor const& executor, workspace& scratch, A const& a, Bound const& bound,
                                        Sums& sums, Asked const&... asked) {
    auto const& call = bound.call;
    auto const& q = call.query;
    auto const& key = in_memory<T>(call.key, scratch);
    auto const& value = in_memory<T>(call.value, scratch);
    using query_element = std::remove_const_t<std::remove_pointer_t<decltype(q.data)>>;
    using d_element = std::remove_pointer_t<decltype(bound.d_result.data)>;
    using operands_type =
        operands<query_element, std::remove_cvref_t<decltype(key)>, std::remove_cvref_t<decltype(value)>, d_element>;
    using of = plan::call_of<T, Arch, A, operands_type>;
    operands_type const x{q, key, value, bound.d_result};
    operand_gradients<T> const rows{fresh_rows<T>(scratch, q.extents), fresh_rows<T>(scratch, call.key.extents),
                                    fresh_rows<T>(scratch, call.value.extents)};
    index_t const heads = x.batches() * x.key_heads(), steps = heads * x.keys();
    auto const rules = core_of(a.aggregate);
    step_number_gradients<T> numbers;
    if constexpr (of::gated)
        if (rules.gate.decay.table)
            numbers.decay = scratch.shared().template take<T>(steps * rules.gate.decay.features());
    if constexpr (of::delta_rule)
        if (rules.correction.rate.table) numbers.rate = scratch.shared().template take<T>(steps);

    pass_sink<T, Asked...> targets(scratch, asked...);
    targets.begin_tables(
        [&](auto const& each) {
            bool is_read = false;
            fovea::detail::for_each_table_of(
                a.score.expression(), [&](auto const& table) { is_read = is_read || fovea::names(each, table); });
            return is_read;
        },
        [](auto const&) { return reached_in::any_share; });
    end_states<T> ends;
    if constexpr (Bound::has_states) {
        auto const n = state_extents(a, call.shapes);
        auto const fresh = [&]<bool Past>(std::bool_constant<Past>) {
            view<T, 4> const state = fresh_rows<T>(scratch, n);
            std::fill_n(state.data, state.size(), T{0});
            bound.template with_state<Past>([&](auto const&, auto const& given) {
                fovea::detail::for_each_index(n, [&](auto... at) { state(at...) = static_cast<T>(given(at...)); });
            });
            return state.data;
        };
        ends = {fresh(std::true_type()), fresh(std::false_type())};
    }
    recurrent_gradient<of>(a, x, rows, numbers, ends)
        .run(executor, scratch, std::min(heads, targets.shares(heads * 1024)),
             [&](index_t share) { return targets.of_share(share); });
    targets.add_tables_to(sums);
    if constexpr (Bound::has_states)
        bound.template with_state<true>([&](auto const& state, auto const&) { sums.add_state(state.target, ends.d); });

    auto const add_numbers = [&](auto const& table, T const* from, index_t features) {
        for (index_t head = 0; from != nullptr && head < heads; ++head)
            sums.add_steps(table, {head / x.key_heads(), head % x.key_heads(), 0, 0}, x.keys(),
                           from + head * x.keys() * features);
    };
    if constexpr (of::gated) add_numbers(rules.gate.decay, numbers.decay, rules.gate.decay.features());
    if constexpr (of::delta_rule) add_numbers(rules.correction.rate, numbers.rate, 1);
    return rows;
}

}  // namespace fovea::FOVEA_SET::driver
