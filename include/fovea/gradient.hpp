// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points of gradients: bind and check the arguments, run the call: in passes, or, where there is none for it,
// as it is defined.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/driver/explain_gradient.hpp>
#include <fovea/driver/layer_gradient.hpp>
#include <fovea/reference/gradient.hpp>
#include <fovea/result/save.hpp>
#include <fovea/spec/part/ragged.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
struct gradient_header {};
}  // namespace detail

/// gradient_on<Arch>: gradient below on a given architecture, executor and workspace.
template <class Arch, executor Executor, attention_spec A, class... Arguments>
void gradient_on(Executor const& executor, workspace& scratch, A const& a, Arguments&&... arguments) {
    if constexpr (!driver::runs_in_parts<Executor>()) return;
    detail::with_gradient_call(
        [&]<attention_spec Of>(Of const& of, auto const& bound, auto const&... asked) {
            using T = typename std::remove_cvref_t<decltype(bound)>::call_type::number;
            constexpr bool passes = driver::has_gradient_pass<T, Of>(), layer = driver::has_layer_gradient<T, Of>();
            [[maybe_unused]] bool done = passes || layer;
            if constexpr (passes) done = driver::run_gradient<Arch>(executor, scratch, of, bound, asked...);
            else if constexpr (layer) done = driver::run_layer_gradient<Arch>(executor, scratch, of, bound, asked...);
            if constexpr (plan::lists_keys<Of> || !(passes || layer))
                if (!done) {
                    subnormals_as_zero const mode;
                    reference::compute_gradient(of, bound, asked...);
                }
        },
        a, std::forward<Arguments>(arguments)...);
}

/// The same of a ragged batch: the sums of the gradients of its sequences, which run in order.
template <class Arch, executor Executor, class Index, attention_spec A, class... Arguments>
void gradient_on(Executor const& executor, workspace& scratch, ragged_t<Index> const& all, A const& a,
                 Arguments&&... arguments) {
    if constexpr (!driver::runs_in_parts<Executor>()) return;
    detail::with_gradient_call(
        [&](auto const&, auto const& bound, auto const&... asked) {
            using T = typename std::remove_cvref_t<decltype(bound)>::call_type::number;
            using one = decltype(of_sequence(a, all[0]));
            if constexpr (driver::has_gradient_pass<T, one>() || driver::has_layer_gradient<T, one>())
                driver::run_ragged_gradient<Arch>(executor, scratch, all, a, bound, asked...);
            else {
                subnormals_as_zero const mode;
                reference::compute_gradient(all, a, bound, asked...);
            }
        },
        detail::ragged_attention<Index, A>{a, all}, std::forward<Arguments>(arguments)...);
}

/// gradient: the gradients of the arrays that a call of attend reads, from the gradient of its result.
///
///     gradient(spec, query, key, value, d_result, grad(query, d_query), grad(slopes, d_slopes))
///     gradient(spec, x, d_result, grad(x, d_x))                      self-attention
///     gradient(spec, queries(x), memory(m), d_result, grad(m, d_m))  cross attention
///
/// Operands as those of attend, and threads(n), a workspace and ragged(offsets) before the specification; after the
/// gradient of the result stands what is asked for, see grad, and the saved_rows of the forward call, if it saved them.
/// Edge cases: a pair that takes no part, and a query that sees no key, give nothing, whatever they hold.
/// Errors: those of attend and of grad, before anything is written. At compile time, for a normalizer or a map of heads
/// without a rule, and an aggregator other than weighted_sum and running_state.
template <executor Executor, class... Arguments>
    requires(detail::begins_call<Arguments...>)
void gradient(Executor const& executor, workspace& scratch, Arguments&&... arguments) {
    gradient_on<arch::best>(executor, scratch, std::forward<Arguments>(arguments)...);
}
template <executor Executor, class... Arguments>
    requires(detail::begins_call<Arguments...>)
void gradient(Executor const& executor, Arguments&&... arguments) {
    workspace scratch;
    gradient_on<arch::best>(executor, scratch, std::forward<Arguments>(arguments)...);
}
template <class... Arguments>
    requires(detail::begins_call<Arguments...>)
void gradient(workspace& scratch, Arguments&&... arguments) {
    gradient_on<arch::best>(serial, scratch, std::forward<Arguments>(arguments)...);
}
template <class... Arguments>
    requires(detail::begins_call<Arguments...>)
void gradient(Arguments&&... arguments) {
    workspace scratch;
    gradient_on<arch::best>(serial, scratch, std::forward<Arguments>(arguments)...);
}

/// Arguments in another order, or without a specification: a sentence, and no call.
template <class... Arguments>
    requires detail::misordered_call<Arguments...>
void gradient(Arguments&&...) {
    detail::refuse_order<Arguments...>();
}

/// Mistakes that have been reported are not reported again.
template <class... Arguments>
void gradient(ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
