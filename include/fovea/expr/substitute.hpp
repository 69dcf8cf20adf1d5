// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET {

/// substitute: the expression with every occurrence of a placeholder replaced by another expression.
template <class E, class Placeholder, expression Replacement>
constexpr auto substitute(E const& e, Placeholder placeholder, Replacement const& replacement) {
    if constexpr (std::is_same_v<E, Placeholder>) {
        return replacement;
    } else if constexpr (is_node<E>) {
        return with_children(e, [&](auto const&... children) {
            return make_node<typename E::operation>(substitute(children, placeholder, replacement)...);
        });
    } else {
        return e;
    }
}

}  // namespace fovea::FOVEA_SET
