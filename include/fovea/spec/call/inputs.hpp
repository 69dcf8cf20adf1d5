// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names for the sources of a call, where queries and keys come from different places.
#pragma once

#include <fovea/spec/operand.hpp>

namespace fovea::FOVEA_SET {

template <class T, int Rank>
struct queries_input {
    view<T const, Rank> source;
};
template <class T, int Rank>
struct memory_input {
    view<T const, Rank> source;
};

/// queries(x): the source of the queries: (position, feature) or (batch, position, feature).
template <class Source>
constexpr auto queries(Source&& x) {
    auto const v = detail::operand_of(x);
    return queries_input<typename std::remove_const_t<decltype(v)>::value_type, decltype(v)::rank>{v};
}

/// memory(x): the common source of keys and values.
template <class Source>
constexpr auto memory(Source&& x) {
    auto const v = detail::operand_of(x);
    return memory_input<typename std::remove_const_t<decltype(v)>::value_type, decltype(v)::rank>{v};
}

}  // namespace fovea::FOVEA_SET
