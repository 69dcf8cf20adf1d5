// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of every specification, by their definition.
#pragma once

#include <fovea/reference/differentiate.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/part/ragged_gradient.hpp>

namespace fovea::FOVEA_SET::reference {

/// A call of gradient that has been bound.
template <class Real, attention_spec A, class Call, class... Asked>
void compute_gradient(A const& a, Call const& bound, Asked const&... asked) {
    gradient_sink<Real, Asked...> sums(asked...);
    fovea::detail::find_arrays(a, bound, sums);
    if (!bound.empty()) differentiate<Real>(a, bound, sums);
    sums.write();
}

/// gradient: the gradients of the arrays that a call reads, from the gradient of its result, by their definition.
///
///     reference::gradient(spec, query, key, value, d_result, grad(query, d_query), grad(slopes, d_slopes))
///     reference::gradient(spec, x, d_result, grad(x, d_x))                      self-attention
///     reference::gradient(spec, queries(x), memory(m), d_result, grad(m, d_m))  cross attention
///
/// Operands as those of attend; after the gradient of the result stands what is asked for, see grad. Every number is a
/// double; gradients are rounded to the type of their target at the end. A pair that takes no part, and a query that
/// sees no key, give nothing, whatever they hold.
/// Errors: those of attend and of grad, before anything is written. At compile time, for a normalizer or a map of heads
/// without a rule, and an aggregator other than weighted_sum and running_state.
template <attention_spec A, class... Arguments>
void gradient(A const& a, Arguments&&... arguments) {
    fovea::detail::with_gradient_call(
        [&](auto const& of, auto const& bound, auto const&... asked) { compute_gradient<double>(of, bound, asked...); },
        a, std::forward<Arguments>(arguments)...);
}
/// The same of a ragged batch: the sums of the gradients of its sequences.
template <class Real, class Index, attention_spec A, class Bound, class... Asked>
void compute_gradient(ragged_t<Index> const& all, A const& a, Bound const& bound, Asked const&... asked) {
    fovea::detail::sum_sequences<Real>(
        all, a, bound, [](auto const& one, auto const& part, auto& sums) { differentiate<Real>(one, part, sums); },
        asked...);
}
template <class Index, attention_spec A, class... Arguments>
void gradient(ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    fovea::detail::with_gradient_call([&](auto const&, auto const& bound,
                                          auto const&... asked) { compute_gradient<double>(all, a, bound, asked...); },
                                      fovea::detail::ragged_attention<Index, A>{a, all},
                                      std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
    requires fovea::detail::misordered_call<Arguments...>
void gradient(Arguments&&...) {
    fovea::detail::refuse_order<Arguments...>();
}

template <class First, class... Rest>
    requires(fovea::detail::place_of<std::remove_cvref_t<First>> == fovea::detail::place_in_call::before
             && !fovea::detail::is_ragged<std::remove_cvref_t<First>> && fovea::detail::begins_well<First, Rest...>())
void gradient(First&&, Rest&&...) {
    static_assert(never<First>, "fovea: this gradient takes no executor and no workspace");
}

/// Mistakes that have been reported are not reported again.
template <class... Arguments>
void gradient(ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET::reference
