// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of an expression where an environment gives its names a meaning, and an arithmetic its numbers.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/scalar.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// Numbers as they are, integers beside functions of reals as double: what an environment without one of its own has.
struct plain_arithmetic {
    static constexpr auto constant(auto x) { return x; }
    template <class X>
    static constexpr auto to_real(X const& x) {
        if constexpr (std::is_integral_v<X>) return static_cast<double>(x);
        else return x;
    }
    static constexpr auto chosen_integer(auto const& x) { return x; }
    template <class Operation>
    FOVEA_INLINE static constexpr auto function(auto const&... x) {
        return Operation::apply(x...);
    }
};

/// Plain numbers of one type: conditions stay conditions, integers have 64 bits, everything else is a Real.
template <class Real>
struct arithmetic_in : plain_arithmetic {
    template <class X>
    static constexpr auto constant(X const& x) {
        if constexpr (std::is_same_v<X, bool>) return x;
        else if constexpr (std::is_integral_v<X>) return static_cast<index_t>(x);
        else return static_cast<Real>(x);
    }
    static constexpr Real to_real(auto const& x) { return static_cast<Real>(x); }
};

namespace detail {
template <class Environment>
struct arithmetic_of {
    using type = plain_arithmetic;
};
template <class Environment>
    requires requires { typename Environment::arithmetic; }
struct arithmetic_of<Environment> {
    using type = typename Environment::arithmetic;
};
}  // namespace detail

template <class Environment>
using arithmetic_of = typename detail::arithmetic_of<Environment>::type;

namespace detail {
/// A comparison in reals: which way it goes must not depend on how its operands were computed.
template <class E>
inline constexpr bool compares_reals = false;
template <class Operation, class A, class B>
inline constexpr bool compares_reals<node<Operation, A, B>> =
    is_condition<node<Operation, A, B>> && !(is_condition<A> && is_condition<B>)
    && !(is_whole_number<A> && is_whole_number<B>);

template <class E>
concept takes_reals = requires { E::operation::takes_reals; };
template <class E>
concept is_approximated = requires { E::operation::is_approximated; };

/// A real product, or a function that may end in one, which a compiler might contract with a sum.
template <class E>
inline constexpr bool is_real_product =
    (is_node_of<operations::times, E> || is_node_of<operations::square, E> || is_approximated<E>)
    && !is_whole_number<E>;

/// A value that is a real: a product of its own where each is Rounded.
template <bool Rounded, class E, class Value>
FOVEA_INLINE constexpr auto each_rounded(Value const& value) {
    using scalar::rounded;
    if constexpr (Rounded && is_real_product<E>) return rounded(value);
    else return value;
}
}  // namespace detail

/// evaluate: the value of an expression where `environment` gives its names a meaning.
///
/// The environment answers three questions: environment(placeholder), environment.lookup(table, indices...)
/// and environment.sum(body, over), `over` saying which features. The kind of its answers (number, pack, interval) is
/// the kind of the result; what is the same for a whole pack stays a number. A settled && or || does not look at its
/// right side, a settled select not at the branch it does not take. Environment::arithmetic, where there is one, says
/// what literals are, what an integer is beside reals, and how functions of numbers are computed. In a comparison of
/// reals every product is `Rounded` before it is added.
template <bool Rounded = false, class E, class Environment>
FOVEA_INLINE constexpr auto evaluate(E const& e, Environment const& environment) {
    using arithmetic = arithmetic_of<Environment>;
    if constexpr (is_literal<E>) {
        return arithmetic::constant(e.value);
    } else if constexpr (is_parameter<E>) {
        return environment.lookup(e.table);
    } else if constexpr (!is_node<E>) {
        return environment(e);
    } else if constexpr (is_node_of<at_operation, E>) {
        return with_children(e, [&](auto const& table, auto const&... indices) FOVEA_LAMBDA {
            return environment.lookup(table.table, evaluate(indices, environment)...);
        });
    } else if constexpr (is_node_of<operations::sum, E>) {
        return environment.sum(get<0>(e), features_of_sum(e));
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
        auto const chosen = [](auto const& x) FOVEA_LAMBDA {
            if constexpr (is_whole_number<E>) return arithmetic::chosen_integer(x);
            else return x;
        };
        if constexpr (std::is_same_v<decltype(condition), bool const>) {
            using value = decltype(chosen(E::operation::apply(condition, evaluate<Rounded>(get<1>(e), environment),
                                                              evaluate<Rounded>(get<2>(e), environment))));
            if (condition) return static_cast<value>(evaluate<Rounded>(get<1>(e), environment));
            return static_cast<value>(evaluate<Rounded>(get<2>(e), environment));
        } else {
            return chosen(E::operation::apply(condition, evaluate<Rounded>(get<1>(e), environment),
                                              evaluate<Rounded>(get<2>(e), environment)));
        }
    } else if constexpr (is_node_of<operations::random, E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return arithmetic::to_real(E::operation::apply(evaluate(children, environment)...));
        });
    } else if constexpr (detail::is_approximated<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return detail::each_rounded<Rounded, E>(arithmetic::template function<typename E::operation>(
                arithmetic::to_real(evaluate<Rounded>(children, environment))...));
        });
    } else if constexpr (detail::takes_reals<E>) {
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return E::operation::apply(arithmetic::to_real(evaluate<Rounded>(children, environment))...);
        });
    } else {
        constexpr bool each = Rounded || detail::compares_reals<E>;
        return with_children(e, [&](auto const&... children) FOVEA_LAMBDA {
            return detail::each_rounded<each, E>(E::operation::apply(evaluate<each>(children, environment)...));
        });
    }
}

}  // namespace fovea::FOVEA_SET
