// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The definition of the library: what every specification means, in plain loops over numbers.
#pragma once

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/finish.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/reference/recurrent.hpp>
#include <fovea/reference/write.hpp>
#include <fovea/spec/arguments.hpp>
#include <fovea/spec/check_call.hpp>
#include <fovea/spec/inputs.hpp>

namespace fovea::FOVEA_SET::reference {

/// attend_in<Real>: attend below, computed in another type than double, to see what that type loses.
template <class Real, attention_spec A, viewable Query, row_source Key, row_source Value, viewable Result,
          extra_output... Extra>
void attend_in(A const& a, Query const& query, Key const& key, Value const& value, Result&& result,
               Extra const&... extra) {
    auto const q = as_heads(fovea::detail::operand_of(query));
    auto const k = as_rows(key);
    auto const v = as_rows(value);
    auto const out = as_heads(fovea::detail::operand_of(result));
    auto const shapes = check_call(a, q, k, v, out, extra...);
    if constexpr (!is_ill_formed<decltype(shapes)> && fovea::detail::has_comparable_features<A, Query, Key>()) {
        if (writes_nothing(out, extra.bind(shapes.operands)...)) return;
        auto const x = project_operands<Real>(a, shapes.operands, q, k, v);
        auto sums = [&] {
            if constexpr (is_recurrent<A>) return recur(a, shapes.operands, x, extra.bind(shapes.operands)...);
            else return aggregate(a, shapes.operands, x, extra.bind(shapes.operands)...);
        }();
        write(out, finish_all(a, std::move(sums), copy<Real>(q)));
    }
}

template <class Real, attention_spec A, viewable Source, viewable Result, extra_output... Extra>
void attend_in(A const& a, Source const& x, Result&& result, Extra const&... extra) {
    attend_in<Real>(a, x, x, x, result, extra...);
}
template <class Real, attention_spec A, class Q, int QueryRank, class M, int MemoryRank, viewable Result,
          extra_output... Extra>
void attend_in(A const& a, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m, Result&& result,
               Extra const&... extra) {
    attend_in<Real>(a, x.source, m.source, m.source, result, extra...);
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

/// What has been reported once is not reported again.
template <class... Arguments>
void attend(ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET::reference
