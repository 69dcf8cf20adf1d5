// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Further results that a call may ask for; what is not asked for is not computed.
#pragma once

#include <fovea/core/view.hpp>

namespace fovea {

/// Where the log-sum-exp of each row goes: (batch, head, query); batch and head may be left out where they are one.
template <class T, int Rank>
struct lse_output {
    using output_tag = void;
    view<T, Rank> target;
};

/// Where the weights go: (batch, head, query, key); batch and head may be left out where they are one.
template <class T, int Rank>
struct weights_output {
    using output_tag = void;
    view<T, Rank> target;
};

template <class O>
concept extra_output = requires { typename O::output_tag; };

/// lse: asks for the log-sum-exp of the scores of each query; -inf for a query that sees no key.
template <class T, int Rank>
constexpr lse_output<T, Rank> lse(view<T, Rank> target) {
    return {target};
}
template <class Owner>
    requires requires(Owner& o) { o.view(); }
constexpr auto lse(Owner& owner) {
    return lse(owner.view());
}

/// weights: asks for the weights of each query over all keys; exactly 0 where a pair does not take part.
template <class T, int Rank>
constexpr weights_output<T, Rank> weights(view<T, Rank> target) {
    return {target};
}
template <class Owner>
    requires requires(Owner& o) { o.view(); }
constexpr auto weights(Owner& owner) {
    return weights(owner.view());
}

}  // namespace fovea
