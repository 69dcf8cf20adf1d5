// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operators.hpp>

namespace fovea {

/// evaluate: the value of an expression where `environment` gives its names a meaning.
///
/// The environment answers three questions: environment(placeholder), environment.lookup(table, indices...)
/// and environment.sum(body). The kind of its answers (number, batch, interval) is the kind of the result;
/// what is the same for a whole batch stays a number. A settled && or || does not look at its right side.
template <class E, class Environment>
[[gnu::always_inline]] constexpr auto evaluate(E const& e, Environment const& environment) {
    if constexpr (is_literal<E>) {
        return e.value;
    } else if constexpr (is_placeholder<E>) {
        return environment(e);
    } else if constexpr (is_parameter<E>) {
        return environment.lookup(e.table);
    } else if constexpr (is_node_of<at_operation, E>) {
        return with_children(e, [&](auto const& table, auto const&... indices) __attribute__((always_inline)) {
            return environment.lookup(table.table, evaluate(indices, environment)...);
        });
    } else if constexpr (is_node_of<operations::sum, E>) {
        return environment.sum(get<0>(e));
    } else if constexpr (is_node_of<operations::logical_and, E> || is_node_of<operations::logical_or, E>) {
        auto const first = evaluate(get<0>(e), environment);
        if constexpr (std::is_same_v<decltype(first), bool const>) {
            using second = decltype(evaluate(get<1>(e), environment));
            if (first == is_node_of<operations::logical_or, E>) return second(first);
            return evaluate(get<1>(e), environment);
        } else {
            return E::operation::apply(first, evaluate(get<1>(e), environment));
        }
    } else {
        return with_children(e, [&](auto const&... children) __attribute__((always_inline)) {
            return E::operation::apply(evaluate(children, environment)...);
        });
    }
}

}  // namespace fovea
