// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points for ragged batches: sequences packed one after another.
#pragma once

#include <fovea/driver/attend.hpp>
#include <fovea/spec/ragged.hpp>

namespace fovea::FOVEA_SET {

/// attend_on<Arch>: attend below on a given architecture, executor and workspace.
///
/// Each sequence is a call of its own: side by side where there are enough of them, otherwise one after the other with
/// all workers on each.
template <class Arch, executor Executor, class Index, attention_spec A, viewable Query, viewable Key, viewable Value,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a, Query const& query,
               Key const& key, Value const& value, Result&& result, Extra const&... extra) {
    auto const q = as_heads(detail::operand_of(query));
    auto const k = as_heads(detail::operand_of(key));
    auto const v = as_heads(detail::operand_of(value));
    auto const out = as_heads(detail::operand_of(result));
    if (!detail::check_ragged(all, a, q, k, v, out, extra...)) return;
    if constexpr (detail::is_well_formed_call<A, std::remove_pointer_t<decltype(out.data)>, Extra...>()) {
        auto const run = [&](auto const& workers, workspace& memory, index_t i) {
            auto const at = all[i];
            attend_on<Arch>(
                workers, memory, of_sequence(a, at), detail::rows_of_sequence(q, at.first_query, at.queries),
                detail::rows_of_sequence(k, at.first_key, at.keys), detail::rows_of_sequence(v, at.first_key, at.keys),
                detail::rows_of_sequence(out, at.first_query, at.queries), detail::output_of_sequence(extra, at)...);
        };
        decltype(auto) runner = driver::runner_of(executor);
        if (runner.workers() > 1 && all.sequences() >= runner.workers()) {
            workspace::call const alone(scratch);
            scratch.prepare_nested(runner.workers());
            runner.run(all.sequences(), [&](index_t i, index_t worker) { run(serial, scratch.nested(worker), i); });
        } else {
            for (index_t i = 0; i < all.sequences(); ++i) run(runner, scratch, i);
        }
    }
}

template <class Arch, executor Executor, class Index, attention_spec A, viewable Source, viewable Result,
          extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a, Source const& x,
               Result&& result, Extra const&... extra) {
    attend_on<Arch>(executor, scratch, all, a, x, x, x, result, extra...);
}

template <class Arch, executor Executor, class Index, attention_spec A, class Q, int QueryRank, class M, int MemoryRank,
          viewable Result, extra_output... Extra>
void attend_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
               queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m, Result&& result,
               Extra const&... extra) {
    attend_on<Arch>(executor, scratch, all, a, x.source, m.source, m.source, result, extra...);
}

/// attend: the attention of a specification within each sequence of a ragged batch; see ragged.
template <executor Executor, class Index, attention_spec A, class... Arguments>
void attend(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
            Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) attend_on<arch::best>(executor, scratch, all, a, arguments...);
}
template <executor Executor, class Index, attention_spec A, class... Arguments>
void attend(Executor const& executor, ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(executor, scratch, all, a, std::forward<Arguments>(arguments)...);
}
template <class Index, attention_spec A, class... Arguments>
void attend(workspace& scratch, ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    attend(serial, scratch, all, a, std::forward<Arguments>(arguments)...);
}
template <class Index, attention_spec A, class... Arguments>
void attend(ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    workspace scratch;
    attend(serial, scratch, all, a, std::forward<Arguments>(arguments)...);
}

}  // namespace fovea::FOVEA_SET
