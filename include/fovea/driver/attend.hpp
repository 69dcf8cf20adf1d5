// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points, also for ragged batches: bind and check the arguments, run the call.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/driver/run_call.hpp>
#include <fovea/spec/call/arguments.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/part/ragged.hpp>

namespace fovea::FOVEA_SET {

/// attend_on<Arch>: attend below on a given architecture, executor and workspace.
template <class Arch, executor Executor, attention_spec A, class... Arguments>
FOVEA_CONTROL void attend_on(Executor const& executor, workspace& scratch, A const& a, Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        auto const call = bind_call(a, arguments...);
        if constexpr (!is_ill_formed<decltype(call)>) driver::run_call<Arch>(executor, scratch, a, call);
    }
}

/// attend: computes the attention of a specification; scores are stored for a few queries at a time only.
///
///     attend(spec, query, key, value, result)         sources of their own
///     attend(spec, x, result)                         self-attention
///     attend(spec, queries(x), memory(m), result)     cross attention
///
/// Before the specification may stand threads(n) or part(i, n), and a workspace; after the result lse(view),
/// weights(view). Views are (position, feature), (batch, position, feature) or (batch, head, position, feature).
/// Edge cases: subnormal numbers count as 0 and none is made, on x86 and AArch64, whatever the mode of the thread.
/// Errors: shape_error or graph_error naming the argument, before anything is written.
template <executor Executor, class... Arguments>
    requires(detail::begins_call<Arguments...>)
FOVEA_INLINE void attend(Executor const& executor, workspace& scratch, Arguments&&... arguments) {
    attend_on<arch::best>(executor, scratch, std::forward<Arguments>(arguments)...);
}
template <executor Executor, class... Arguments>
    requires(detail::begins_call<Arguments...>)
FOVEA_INLINE void attend(Executor const& executor, Arguments&&... arguments) {
    workspace scratch;
    attend_on<arch::best>(executor, scratch, std::forward<Arguments>(arguments)...);
}
template <class... Arguments>
    requires(detail::begins_call<Arguments...>)
FOVEA_INLINE void attend(workspace& scratch, Arguments&&... arguments) {
    attend_on<arch::best>(serial, scratch, std::forward<Arguments>(arguments)...);
}
template <class... Arguments>
    requires(detail::begins_call<Arguments...>)
FOVEA_INLINE void attend(Arguments&&... arguments) {
    workspace scratch;
    attend_on<arch::best>(serial, scratch, std::forward<Arguments>(arguments)...);
}

/// attend: part i of n of a call, in its memory if it has some, see part.
template <class... Arguments>
    requires(detail::begins_call<Arguments...>)
void attend(part const& own, Arguments&&... arguments) {
    workspace scratch;
    if (own.has_memory()) {
        auto measuring = own.in_memory(true);
        attend_on<arch::best>(part(0, 1), measuring, std::forward<Arguments>(arguments)...);
        own.require_memory(measuring.needed());
        scratch = own.in_memory(false);
    }
    attend_on<arch::best>(own, scratch, std::forward<Arguments>(arguments)...);
}

/// workspace_size: the bytes of memory that each part of a call needs, however many there are and wherever the memory
/// begins, see part.
///
///     workspace_size(spec, query, key, value, result)    the arguments of the call after part(i, n)
///
/// Of the operands it reads what the checks of the call read: lists, offsets, pages, tables of indices.
/// Errors: those of attend.
template <class... Arguments>
std::size_t workspace_size(Arguments&&... arguments) {
    constexpr bool sound = detail::begins_call<Arguments...> || (is_ill_formed<Arguments> || ...);
    static_assert(
        sound,
        "fovea: workspace_size takes what follows part(i, n) in the call: workspace_size(specification, query, "
        "key, value, result)");
    workspace measuring(nullptr, 0, true);
    if constexpr (detail::begins_call<Arguments...>)
        attend_on<arch::best>(part(0, 1), measuring, std::forward<Arguments>(arguments)...);
    return measuring.needed() + arena::alignment - 1;
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

/// Mistakes that have been reported are not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}
template <class Before, class... Arguments>
    requires(executor<Before> || std::same_as<Before, workspace>)
void attend(Before const&, ill_formed, Arguments const&...) {}
template <executor Executor, class... Arguments>
void attend(Executor const&, workspace&, ill_formed, Arguments const&...) {}

/// attend: the attention of a specification within each sequence of a ragged batch; see ragged.
///
/// Each sequence is a call of its own: side by side where there are enough of them, otherwise one after the other with
/// all workers on each.
template <class Arch, executor Executor, class Index, attention_spec A, class... Arguments>
FOVEA_CONTROL void attend_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
                             Arguments&&... arguments) {
    if constexpr (detail::is_call<Arguments...>()) {
        auto const call = bind_call(detail::ragged_attention<Index, A>{a, all}, arguments...);
        if constexpr (!is_ill_formed<decltype(call)>) {
            detail::begin_sequences(call);
            auto const run = [&](auto const& workers, workspace& memory, index_t i) {
                auto const one = of_sequence(a, all[i]);
                driver::run_call<Arch>(workers, memory, one, detail::call_of_sequence(one, call, call.asked, all[i]));
            };
            decltype(auto) runner = driver::runner_of(executor);
            if (runner.workers() == 1 || all.sequences() < runner.workers()) {
                for (index_t i = 0; i < all.sequences(); ++i) run(runner, scratch, i);
            } else if constexpr (driver::is_part<Executor>) {
                runner.run(all.sequences(), [&](index_t i, index_t) { run(part(0, 1), scratch, i); });
            } else {
                workspace::call const alone(scratch);
                scratch.prepare_nested(runner.workers());
                runner.run(all.sequences(), [&](index_t i, index_t worker) { run(serial, scratch.nested(worker), i); });
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
