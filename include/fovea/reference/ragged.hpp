// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences that lie one after another, by their definition: one call for each.
#pragma once

#include <fovea/reference/attend.hpp>
#include <fovea/spec/ragged.hpp>

namespace fovea::FOVEA_SET::reference {

template <class Index, attention_spec A, viewable Query, viewable Key, viewable Value, viewable Result,
          extra_output... Extra>
void attend(ragged_t<Index> const& all, A const& a, Query const& query, Key const& key, Value const& value,
            Result&& result, Extra const&... extra) {
    auto const q = as_heads(fovea::detail::operand_of(query));
    auto const k = as_heads(fovea::detail::operand_of(key));
    auto const v = as_heads(fovea::detail::operand_of(value));
    auto const out = as_heads(fovea::detail::operand_of(result));
    if (!fovea::detail::check_ragged(all, a, q, k, v, out, extra...)) return;
    for (index_t i = 0; i < all.sequences(); ++i) {
        auto const at = all[i];
        using fovea::detail::rows_of_sequence;
        reference::attend(of_sequence(a, at), rows_of_sequence(q, at.first_query, at.queries),
                          rows_of_sequence(k, at.first_key, at.keys), rows_of_sequence(v, at.first_key, at.keys),
                          rows_of_sequence(out, at.first_query, at.queries),
                          fovea::detail::output_of_sequence(extra, at)...);
    }
}

template <class Index, attention_spec A, viewable Source, viewable Result, extra_output... Extra>
void attend(ragged_t<Index> const& all, A const& a, Source const& x, Result&& result, Extra const&... extra) {
    reference::attend(all, a, x, x, x, result, extra...);
}

}  // namespace fovea::FOVEA_SET::reference
