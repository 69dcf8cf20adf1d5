// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/function_operations.hpp>
#include <fovea/expr/operators.hpp>

namespace fovea::FOVEA_SET {

/// evaluate: the value of an expression where `environment` gives its names a meaning.
///
/// The environment answers three questions: environment(placeholder), environment.lookup(table, indices...)
/// and environment.sum(body). The kind of its answers (number, pack, interval) is the kind of the result;
/// what is the same for a whole pack stays a number. A settled && or || does not look at its right side, a
/// settled select not at the branch it does not take. environment.constant(value), where there is one, decides
/// what a literal is.
template <class E, class Environment>
[[gnu::always_inline]] constexpr auto evaluate(E const& e, Environment const& environment) {
    if constexpr (is_literal<E>) {
        if constexpr (requires { environment.constant(e.value); }) return environment.constant(e.value);
        else return e.value;
    } else if constexpr (is_parameter<E>) {
        return environment.lookup(e.table);
    } else if constexpr (!is_node<E>) {
        return environment(e);
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
            if (first == is_node_of<operations::logical_or, E>) {
                if constexpr (requires { second::all(); }) return first ? second::all() : second::none();
                else return second(first);
            }
            return evaluate(get<1>(e), environment);
        } else {
            return E::operation::apply(first, evaluate(get<1>(e), environment));
        }
    } else if constexpr (is_node_of<operations::select, E>) {
        auto const condition = evaluate(get<0>(e), environment);
        if constexpr (std::is_same_v<decltype(condition), bool const>) {
            using value = decltype(E::operation::apply(condition, evaluate(get<1>(e), environment),
                                                       evaluate(get<2>(e), environment)));
            if (condition) return static_cast<value>(evaluate(get<1>(e), environment));
            return static_cast<value>(evaluate(get<2>(e), environment));
        } else {
            return E::operation::apply(condition, evaluate(get<1>(e), environment), evaluate(get<2>(e), environment));
        }
    } else {
        return with_children(e, [&](auto const&... children) __attribute__((always_inline)) {
            return E::operation::apply(evaluate(children, environment)...);
        });
    }
}

}  // namespace fovea::FOVEA_SET
