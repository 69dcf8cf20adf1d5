// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points: check the arguments, project the operands, run the call.
#pragma once

#include <fovea/driver/project.hpp>
#include <fovea/driver/run_call.hpp>
#include <fovea/spec/arguments.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/inputs.hpp>

namespace fovea::FOVEA_SET {

/// attend_on<Arch>: attend below on a given architecture, executor and workspace.
template <class Arch, executor Executor, attention_spec A, viewable Query, row_source Key, row_source Value,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Query const& query, Key const& key,
               Value const& value, Result&& result, Extra const&... extra) {
    auto const q = as_heads(detail::operand_of(query));
    auto const k = as_rows(key);
    auto const v = as_rows(value);
    auto const out = as_heads(detail::operand_of(result));
    auto const shapes = check_call(a, q, k, v, out, extra...);
    if constexpr (!is_ill_formed<decltype(shapes)> && detail::has_comparable_features<A, Query, Key>()) {
        if (writes_nothing(out, extra.bind(shapes.operands)...)) return;
        using namespace driver;
        using q_element = std::remove_const_t<std::remove_pointer_t<decltype(q.data)>>;
        using k_element = element_of_rows<decltype(k)>;
        using v_element = element_of_rows<decltype(v)>;
        using out_element = std::remove_pointer_t<decltype(out.data)>;
        using T = compute_type<q_element, k_element, v_element, out_element>;
        decltype(auto) runner = runner_of(executor);
        using runner_type = std::remove_cvref_t<decltype(runner)>;
        workspace::call const alone(scratch);
        scratch.prepare(runner.workers());
        auto const run = [&](auto const& x, auto const& y, auto const& z) {
            attend_and_finish<T, Arch>(attention_run<runner_type, A>{runner, scratch, a, shapes.operands}, x, y, z, q,
                                       out, extra...);
        };
        if constexpr (projection<decltype(a.project)>) {
            using heads = typename std::remove_cvref_t<decltype(a.project)>::heads_type;
            auto const& p = a.project;
            auto const x = project<T, Arch>(runner, scratch, p.query, q, heads::query);
            auto const y = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.query)>,
                                             std::remove_cvref_t<decltype(p.key)>>)
                    if (heads::group == 1 && same_projection(p.query, p.key, q, k)) return x;
                return project<T, Arch>(runner, scratch, p.key, k, heads::key_value);
            }();
            auto const z = [&] {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.key)>,
                                             std::remove_cvref_t<decltype(p.value)>>)
                    if (same_projection(p.key, p.value, k, v)) return y;
                return project<T, Arch>(runner, scratch, p.value, v, heads::key_value);
            }();
            run(x, y, z);
        } else {
            run(view<q_element const, 4>(q), only_read(k), only_read(v));
        }
    }
}

template <class Arch, executor Executor, attention_spec A, viewable Source, viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, Source const& x, Result&& result,
               Extra const&... extra) {
    attend_on<Arch>(executor, scratch, a, x, x, x, result, extra...);
}

template <class Arch, executor Executor, attention_spec A, class Q, int QueryRank, class M, int MemoryRank,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, A const& a, queries_input<Q, QueryRank> const& x,
               memory_input<M, MemoryRank> const& m, Result&& result, Extra const&... extra) {
    attend_on<Arch>(executor, scratch, a, x.source, m.source, m.source, result, extra...);
}

/// attend: computes the attention of a specification; scores are stored for a few queries at a time only.
///
///     attend(spec, query, key, value, result)         sources of their own
///     attend(spec, x, result)                         self-attention
///     attend(spec, queries(x), memory(m), result)     cross attention
///
/// Before the specification may stand threads(n) and a workspace; after the result lse(view), weights(view).
/// Views are (position, feature), (batch, position, feature) or (batch, head, position, feature).
/// Errors: shape_error or graph_error naming the argument, before anything is written.
template <executor Executor, attention_spec A, class... Arguments>
FOVEA_INLINE void attend(Executor const& executor, workspace& scratch, A const& a, Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) attend_on<arch::best>(executor, scratch, a, arguments...);
}
template <executor Executor, attention_spec A, class... Arguments>
FOVEA_INLINE void attend(Executor const& executor, A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(executor, scratch, a, std::forward<Arguments>(arguments)...);
}
template <attention_spec A, class... Arguments>
FOVEA_INLINE void attend(workspace& scratch, A const& a, Arguments&&... arguments) {
    attend(serial, scratch, a, std::forward<Arguments>(arguments)...);
}
template <attention_spec A, class... Arguments>
FOVEA_INLINE void attend(A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(serial, scratch, a, std::forward<Arguments>(arguments)...);
}

/// Arguments in another order, or without a specification: a sentence, and no call.
template <class... Arguments>
    requires detail::misordered_call<Arguments...>
void attend(Arguments&&...) {
    detail::refuse_order<Arguments...>();
}

/// An output that is named without its view says so itself.
template <attention_spec A, class Source, class Result>
void attend(A const&, Source const&, Result const&, ill_formed (&)()) {}
template <attention_spec A, class Query, class Key, class Value, class Result>
void attend(A const&, Query const&, Key const&, Value const&, Result const&, ill_formed (&)()) {}

/// What has been reported once is not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}
template <class Before, class... Arguments>
    requires(executor<Before> || std::same_as<Before, workspace>)
void attend(Before const&, ill_formed, Arguments const&...) {}
template <executor Executor, class... Arguments>
void attend(Executor const&, workspace&, ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET
