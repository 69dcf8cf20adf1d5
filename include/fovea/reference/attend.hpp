// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The definition of the library: what every specification means, in plain loops over numbers.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/reference/recurrent.hpp>
#include <fovea/spec/call/arguments.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/part/ragged.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET::reference {

template <class T, class Real>
void write(view<T, 4> const& target, array<Real> const& computed) {
    for_each_element(computed.extents, [&](index_t b, index_t h, index_t n, index_t c) {
        target(b, h, n, c) = rounded_to<T>(computed(b, h, n, c));
    });
}

/// A call that has been bound, in a type of numbers.
template <class Real, attention_spec A, class Call>
void compute(A const& a, Call const& call) {
    if (call.writes_nothing()) return;
    auto const x = project_operands<Real>(a, call.shapes, call.query, call.key, call.value);
    auto sums = std::apply(
        [&](auto const&... outputs) {
            if constexpr (is_recurrent<A>) return recur(a, call.shapes, x, outputs...);
            else return aggregate(a, call.shapes, x, outputs...);
        },
        call.outputs());
    write(call.result, finish_all(a, std::move(sums), copy<Real>(call.query)));
}

/// attend_in<Real>: attend below, computed in another type than double, to see what that type loses.
template <class Real, attention_spec A, class... Arguments>
void attend_in(A const& a, Arguments&&... arguments) {
    auto const call = bind_call(a, arguments...);
    if constexpr (!is_ill_formed<decltype(call)>) compute<Real>(a, call);
}

/// attend: the attention of a specification, by its definition.
///
///     reference::attend(spec, query, key, value, result)       sources of their own
///     reference::attend(spec, x, result)                       self-attention
///     reference::attend(spec, queries(x), memory(m), result)   cross attention
///
/// After the result stand lse(view) and weights(view), as wanted. Every number is a double, every row of weights
/// is made; results are rounded to the type of their view at the end. Views have rank 2, 3 or 4.
/// Errors: those of check_call, before anything is written; shape_error for a table read out of its range.
template <attention_spec A, class... Arguments>
void attend(A const& a, Arguments&&... arguments) {
    if constexpr (fovea::detail::is_call<Arguments...>()) attend_in<double>(a, arguments...);
}
template <class... Arguments>
    requires fovea::detail::misordered_call<Arguments...>
void attend(Arguments&&...) {
    fovea::detail::refuse_order<Arguments...>();
}

/// Mistakes that have been reported are not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}

template <class Index, attention_spec A, class... Arguments>
void attend(ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    if constexpr (fovea::detail::is_call<Arguments...>()) {
        auto const call = bind_call(fovea::detail::ragged_attention<Index, A>{a, all}, arguments...);
        if constexpr (!is_ill_formed<decltype(call)>) {
            fovea::detail::begin_sequences(call);
            for (index_t i = 0; i < all.sequences(); ++i) {
                auto const one = of_sequence(a, all[i]);
                compute<double>(one, fovea::detail::call_of_sequence(one, call, call.asked, all[i]));
            }
        }
    }
}

}  // namespace fovea::FOVEA_SET::reference

#include <fovea/core/epilogue.hpp>
