// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient with a running state: its sweeps, and the sums of what they leave.
#pragma once

#include <fovea/driver/call/copies.hpp>
#include <fovea/driver/recurrent/backward/recurrent_gradient.hpp>
#include <fovea/plan/traversal.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/call/check_gradient.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

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
