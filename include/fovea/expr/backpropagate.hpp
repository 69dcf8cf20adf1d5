// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of an expression by everything that it reads, in one pass from its value back to its leaves.
#pragma once

#include <fovea/expr/differentiate.hpp>
#include <fovea/expr/evaluate.hpp>

#include <cstddef>
#include <utility>

namespace fovea::FOVEA_SET {

/// Everything that a gradient can be of: features, what stands for the score, the weight or the result, and tables of
/// reals. Leaves that take less say so as `cotangent_kinds`: nothing is computed for the others.
struct every_leaf {
    template <class E>
    static constexpr bool takes = std::is_same_v<E, q_t> || std::is_same_v<E, k_t> || std::is_same_v<E, score_t>
                               || std::is_same_v<E, weight_t> || std::is_same_v<E, out_t> || is_parameter<E>;
};

/// True where an expression depends on numbers that the leaves take. Integers and conditions are steps.
template <class E, class Cotangents>
inline constexpr bool reaches = Cotangents::template takes<E>;
template <class T, int Rank, class Cotangents>
inline constexpr bool reaches<parameter<T, Rank>, Cotangents> =
    detail::is_real_number<T> && Cotangents::template takes<parameter<T, Rank>>;
template <class T, int Rank, class... Indices, class Cotangents>
inline constexpr bool reaches<node<at_operation, parameter<T, Rank>, Indices...>, Cotangents> =
    reaches<parameter<T, Rank>, Cotangents>;
template <class Operation, class... Children, class Cotangents>
inline constexpr bool reaches<node<Operation, Children...>, Cotangents> =
    !is_whole_number<node<Operation, Children...>> && !is_condition<node<Operation, Children...>>
    && (reaches<Children, Cotangents> || ...);

/// True where an expression depends on numbers that a gradient can be of.
template <class E>
inline constexpr bool has_gradient = reaches<E, every_leaf>;

namespace derivatives {

/// The derivative of a node by its child `Number`, where its other children stay: zero, one, or an expression.
template <std::size_t Number, class E>
constexpr auto by_child(E const& e) {
    using operation = typename E::operation;
    return with_children(e, [&](auto const&... a) {
        if constexpr (is_rule<decltype(of_derivatives<operation>)>) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return of_derivatives<operation>(a..., std::conditional_t < I == Number, one, zero > {}...);
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

/// An amount times a derivative; 0 stays 0, whatever it is multiplied by.
template <class Amount, class Derivative>
FOVEA_INLINE constexpr Amount passed_on(Amount const& amount, Derivative const& derivative) {
    if constexpr (std::is_arithmetic_v<Amount>) return amount * static_cast<Amount>(derivative);
    else return select(amount == Amount(0), Amount(0), amount * Amount(derivative));
}

template <class Cotangents>
struct kinds_of {
    using type = every_leaf;
};
template <class Cotangents>
    requires requires { typename Cotangents::cotangent_kinds; }
struct kinds_of<Cotangents> {
    using type = typename Cotangents::cotangent_kinds;
};

}  // namespace derivatives

/// backpropagate: hands `amount` times the derivative of an expression to each of its leaves, where `at` gives its
/// names a meaning as `evaluate` asks for it:
///
///     leaves.name(at, amount, q)                   a feature, the score, the weight, or the result
///     leaves.table(at, amount, table, indices...)  an element of a table of reals
///     leaves.sum(at, amount, body, over)           goes on with the body at each feature of the sum
///
/// A leaf that is read twice gets two amounts. Where the amount is 0 nothing is handed on, so that a branch that was
/// not taken, or a pair without influence, adds nothing, whatever its derivative is. Amounts are numbers, or vectors of
/// them, of which a lane that is 0 stays 0.
template <class E, class Environment, class Amount, class Cotangents>
FOVEA_INLINE void backpropagate(E const& e, Environment const& at, Amount const& amount, Cotangents const& cotangents) {
    using kinds = typename derivatives::kinds_of<Cotangents>::type;
    if constexpr (reaches<E, kinds>) {
        if constexpr (std::is_arithmetic_v<Amount>)
            if (amount == 0) return;
        if constexpr (is_parameter<E>) {
            cotangents.table(at, amount, e.table);
        } else if constexpr (is_node_of<at_operation, E>) {
            with_children(e, [&](auto const& table, auto const&... indices)
                                 FOVEA_LAMBDA { cotangents.table(at, amount, table.table, evaluate(indices, at)...); });
        } else if constexpr (!is_node<E>) {
            cotangents.name(at, amount, e);
        } else if constexpr (is_node_of<operations::sum, E>) {
            cotangents.sum(at, amount, get<0>(e), features_of_sum(e));
        } else {
            [&]<std::size_t... I>(std::index_sequence<I...>) FOVEA_LAMBDA {
                [[maybe_unused]] auto const to =
                    [&]<std::size_t N>(std::integral_constant<std::size_t, N>) FOVEA_LAMBDA {
                        auto const& child = get<N>(e);
                        if constexpr (reaches<std::remove_cvref_t<decltype(child)>, kinds>) {
                            auto const derivative = derivatives::by_child<N>(e);
                            using known = std::remove_const_t<decltype(derivative)>;
                            if constexpr (std::is_same_v<known, derivatives::one>)
                                backpropagate(child, at, amount, cotangents);
                            else if constexpr (!derivatives::is_zero<known>)
                                backpropagate(child, at, derivatives::passed_on(amount, evaluate(derivative, at)),
                                              cotangents);
                        }
                    };
                (to(std::integral_constant<std::size_t, I>()), ...);
            }(std::make_index_sequence<E::arity>());
        }
    }
}

}  // namespace fovea::FOVEA_SET
