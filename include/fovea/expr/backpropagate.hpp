// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of an expression by everything that it reads, in one pass from its value back to its leaves.
#pragma once

#include <fovea/expr/differentiate.hpp>
#include <fovea/expr/evaluate.hpp>

#include <cstddef>
#include <utility>

namespace fovea::FOVEA_SET {

/// True where an expression depends on numbers that a gradient can be of: features, what stands for the score, the
/// weight or the result, and tables of reals. Integers and conditions are steps.
template <class E>
inline constexpr bool has_gradient = std::is_same_v<E, q_t> || std::is_same_v<E, k_t> || std::is_same_v<E, score_t>
                                  || std::is_same_v<E, weight_t> || std::is_same_v<E, out_t>;
template <class T, int Rank>
inline constexpr bool has_gradient<parameter<T, Rank>> = !std::is_integral_v<T>;
template <class T, int Rank, class... Indices>
inline constexpr bool has_gradient<node<at_operation, parameter<T, Rank>, Indices...>> = !std::is_integral_v<T>;
template <class Operation, class... Children>
inline constexpr bool has_gradient<node<Operation, Children...>> =
    !is_whole_number<node<Operation, Children...>> && !is_condition<node<Operation, Children...>>
    && (has_gradient<Children> || ...);

namespace derivatives {

/// The derivative of a node by its child `Number`, where its other children stay, as an expression.
template <std::size_t Number, class E>
constexpr auto by_child(E const& e) {
    using operation = typename E::operation;
    return with_children(e, [&](auto const&... a) {
        if constexpr (is_rule<decltype(of_derivatives<operation>)>) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return written(of_derivatives<operation>(a..., std::conditional_t < I == Number, one, zero > {}...));
            }(std::make_index_sequence<sizeof...(a)>());
        } else if constexpr (is_rule<decltype(by_operand<operation>)>) {
            return by_operand<operation>(e, a...);
        } else if constexpr (Number == 0) {
            return by_operands<operation>.first(e, a...);
        } else {
            return by_operands<operation>.second(e, a...);
        }
    });
}

}  // namespace derivatives

/// backpropagate: hands `amount` times the derivative of an expression to each of its leaves, where `at` gives its
/// names a meaning as `evaluate` asks for it:
///
///     leaves.name(at, amount, q)                   a feature, the score, the weight, or the result
///     leaves.table(at, amount, table, indices...)  an element of a table of reals
///     leaves.sum(at, amount, body, over)           goes on with the body at each feature of the sum
///
/// A leaf that is read twice gets two amounts. Where the amount is 0 nothing is handed on, so that a branch that was
/// not taken, or a pair without influence, adds nothing, whatever its derivative is.
template <class E, class Environment, class Real, class Leaves>
void backpropagate(E const& e, Environment const& at, Real amount, Leaves const& leaves) {
    if constexpr (has_gradient<E>) {
        if (amount == 0) return;
        if constexpr (is_parameter<E>) {
            leaves.table(at, amount, e.table);
        } else if constexpr (is_node_of<at_operation, E>) {
            with_children(e, [&](auto const& table, auto const&... indices) {
                leaves.table(at, amount, table.table, evaluate(indices, at)...);
            });
        } else if constexpr (!is_node<E>) {
            leaves.name(at, amount, e);
        } else if constexpr (is_node_of<operations::sum, E>) {
            leaves.sum(at, amount, get<0>(e), features_of_sum(e));
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                [[maybe_unused]] auto const to = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
                    auto const& child = get<N>(e);
                    if constexpr (has_gradient<std::remove_cvref_t<decltype(child)>>)
                        backpropagate(child, at, amount * static_cast<Real>(evaluate(derivatives::by_child<N>(e), at)),
                                      leaves);
                };
                (to(std::integral_constant<std::size_t, I>()), ...);
            }(std::make_index_sequence<E::arity>());
        }
    }
}

}  // namespace fovea::FOVEA_SET
