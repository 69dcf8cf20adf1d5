// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences that lie one after another, by their definition: one call for each.
#pragma once

#include <fovea/reference/attend.hpp>
#include <fovea/spec/part/ragged.hpp>

namespace fovea::FOVEA_SET::reference {

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
