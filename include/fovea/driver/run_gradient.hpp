// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call of gradient that has been checked: by passes over tiles, or, where there is no pass for it, by the definition.
#pragma once

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/dense/softmax_gradient.hpp>
#include <fovea/driver/empty_tables.hpp>
#include <fovea/driver/executor.hpp>
#include <fovea/driver/graph/run_listed_gradient.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/gradient.hpp>
#include <fovea/spec/exact_integers.hpp>

namespace fovea::FOVEA_SET::driver {

/// True where the only real numbers that a score depends on are features, and it is its product and what is added to
/// that.
template <class T, class A, class Call>
constexpr bool has_gradient_pass() {
    using aggregate = std::remove_cvref_t<decltype(std::declval<A const&>().aggregate)>;
    if constexpr (plan::is_dense<A> && !projection<decltype(std::declval<A const&>().project)>
                  && std::is_same_v<std::remove_cvref_t<decltype(std::declval<A const&>().normalize)>, softmax_t>
                  && std::is_same_v<aggregate, weighted_sum_t>) {
        using lowered = decltype(plan::lower_attention(std::declval<A const&>()));
        using parts = std::remove_cvref_t<decltype(lowered::score.parts)>;
        return plan::has_plain_product<parts>
            && plan::adds_to_product<std::remove_cvref_t<decltype(lowered::score.pointwise)>>
            && !plan::any_reads_features<decltype(parts::rows)> && !plan::any_reads_features<decltype(parts::keys)>;
    } else {
        return false;
    }
}

/// Whether gradients are asked of queries, keys and values alone.
template <class A, class... Asked>
bool asks_for_rows_only(A const& a, Asked const&... asked) {
    bool only = true;
    fovea::detail::for_each_array_with_gradient(
        a, [&](auto const& array) { only = only && (!reference::names(asked, array) && ...); });
    return only;
}

/// The gradients of queries, keys and values, in passes.
template <class T, class Arch, class Executor, class A, class Bound, class Sums>
void run_gradient_pass(Executor const& executor, workspace& scratch, A const& a, Bound const& bound, Sums& sums) {
    auto const& call = bound.call;
    auto const& q = call.query;
    using query = std::remove_cvref_t<decltype(*q.data)>;
    using keys = std::remove_cvref_t<decltype(call.key)>;
    using values = std::remove_cvref_t<decltype(call.value)>;
    using d_result = std::remove_const_t<std::remove_pointer_t<decltype(bound.d_result.data)>>;
    bool const exact = [&] {
        if constexpr (sizeof(T) == 4) return needs_exact_integers<T>(a, call.shapes);
        else return false;
    }();
    zeros_for_tables const zeros{scratch.shared(), q.extent(3)};
    auto const lowered =
        plan::lower_attention(a, [&](auto const& expression) { return with_elements(expression, zeros); });
    plan::lowered_score const spec{lowered.score, lowered.predicate};
    view<T, 4> const d_query = fresh_rows<T>(scratch, q.extents), d_key = fresh_rows<T>(scratch, call.key.extents),
                     d_value = fresh_rows<T>(scratch, call.value.extents);
    run_softmax_gradient<T, Arch>(
        executor, scratch, spec, score_operands<query, keys>{q, call.key, exact},
        gradient_operands<T, values, d_result>{call.value, bound.d_result, d_query, d_key, d_value});
    sums.add_rows(q, d_query.data);
    sums.add_rows(call.key, d_key.data);
    sums.add_rows(call.value, d_value.data);
}

/// run_gradient: a call of gradient on a given architecture, executor and workspace.
template <class Arch, class Executor, class A, class Bound, class... Asked>
void run_gradient(Executor const& executor, workspace& scratch, A const& a, Bound const& bound, Asked const&... asked) {
    using T = typename Bound::call_type::number;
    if constexpr (has_gradient_pass<T, A, typename Bound::call_type>()) {
        if (!bound.d_result.empty() && asks_for_rows_only(a, asked...)) {
            decltype(auto) runner = runner_of(executor);
            workspace::call const alone(scratch);
            scratch.prepare(runner.workers());
            reference::named_sums<T, Asked...> sums(asked...);
            reference::find_arrays(a, bound.call, sums);
            run_gradient_pass<T, Arch>(runner, scratch, a, bound, sums);
            return sums.write();
        }
    }
    if constexpr (has_listed_gradient<A>())
        if (!bound.d_result.empty() && run_listed_gradient<T, Arch>(runner_of(executor), scratch, a, bound, asked...))
            return;
    reference::compute_gradient<double>(a, bound, asked...);
}

}  // namespace fovea::FOVEA_SET::driver
