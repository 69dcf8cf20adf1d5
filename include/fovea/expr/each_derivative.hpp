// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivatives of an expression by everything that it reads, as expressions: what backpropagate computes, on paper.
#pragma once

#include <fovea/expr/backpropagate.hpp>

namespace fovea::FOVEA_SET {

namespace derivatives {
/// The derivative of a whole by a child, from that by its parent.
template <class ByParent, class ByChild>
constexpr auto chained(ByParent const& by_parent, ByChild const& by_child) {
    if constexpr (std::is_same_v<ByParent, one> || is_zero<ByChild>) return by_child;
    else if constexpr (std::is_same_v<ByChild, one>) return by_parent;
    else return by_parent * by_child;
}

template <class E, class Whole, class Found>
void find_each(E const& e, Whole const& by_this, Found const& found) {
    if constexpr (has_gradient<E>) {
        if constexpr (!is_node<E> || is_node_of<at_operation, E>) {
            found(e, written(by_this));
        } else if constexpr (is_node_of<operations::sum, E>) {
            find_each(get<0>(e), by_this, found);
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                [[maybe_unused]] auto const go_on = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
                    auto const& child = get<N>(e);
                    if constexpr (has_gradient<std::remove_cvref_t<decltype(child)>>) {
                        auto const by_child = chained(by_this, derivatives::by_child<N>(e));
                        if constexpr (!is_zero<std::remove_const_t<decltype(by_child)>>)
                            find_each(child, by_child, found);
                    }
                };
                (go_on(std::integral_constant<std::size_t, I>()), ...);
            }(std::make_index_sequence<E::arity>());
        }
    }
}
}  // namespace derivatives

/// for_each_derivative: calls found(leaf, derivative) for each place where an expression reads a number that a gradient
/// can be of: a feature, the score, the weight, the result, or an element of a table.
///
/// Of a sum over features it is that by one feature, in which q and k stand for that one.
template <expression E, class Found>
void for_each_derivative(E const& e, Found const& found) {
    derivatives::find_each(e, derivatives::one{}, found);
}

}  // namespace fovea::FOVEA_SET
