// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names for the sources of a call, where queries and keys come from different places.
#pragma once

#include <fovea/core/view.hpp>

namespace fovea {

template <class T, int Rank>
struct queries_input {
    view<T const, Rank> source;
};
template <class T, int Rank>
struct memory_input {
    view<T const, Rank> source;
};

/// queries(x): the source of the queries: (position, feature) or (batch, position, feature).
template <class T, int Rank>
constexpr queries_input<std::remove_const_t<T>, Rank> queries(view<T, Rank> x) {
    return {x};
}
template <class Owner>
    requires requires(Owner const& o) { o.view(); }
constexpr auto queries(Owner const& x) {
    return queries(x.view());
}

/// memory(x): the common source of keys and values.
template <class T, int Rank>
constexpr memory_input<std::remove_const_t<T>, Rank> memory(view<T, Rank> x) {
    return {x};
}
template <class Owner>
    requires requires(Owner const& o) { o.view(); }
constexpr auto memory(Owner const& x) {
    return memory(x.view());
}

}  // namespace fovea
