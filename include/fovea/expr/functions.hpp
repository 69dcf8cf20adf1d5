// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of the language; each builds a node.
#pragma once

#include <fovea/expr/operators.hpp>

namespace fovea {

template <class A, class B>
    requires expression_operands<A, B>
constexpr auto min(A const& a, B const& b) {
    return detail::build<operations::min>(a, b);
}
template <class A, class B>
    requires expression_operands<A, B>
constexpr auto max(A const& a, B const& b) {
    return detail::build<operations::max>(a, b);
}

/// select: the value of `a` where the condition holds, of `b` elsewhere.
template <expression Condition, operand A, operand B>
constexpr auto select(Condition const& condition, A const& a, B const& b) {
    return detail::build<operations::select>(condition, a, b);
}

template <expression A>
constexpr auto abs(A const& a) {
    return detail::build<operations::abs>(a);
}
template <expression A>
constexpr auto square(A const& a) {
    return detail::build<operations::square>(a);
}
template <expression A>
constexpr auto exp(A const& a) {
    return detail::build<operations::exp>(a);
}
template <expression A>
constexpr auto log(A const& a) {
    return detail::build<operations::log>(a);
}
template <expression A>
constexpr auto tanh(A const& a) {
    return detail::build<operations::tanh>(a);
}
template <expression A>
constexpr auto sqrt(A const& a) {
    return detail::build<operations::sqrt>(a);
}
template <expression A>
constexpr auto rsqrt(A const& a) {
    return detail::build<operations::rsqrt>(a);
}

/// sigmoid(a) = 1 / (1 + exp(-a))
template <expression A>
constexpr auto sigmoid(A const& a) {
    return detail::build<operations::sigmoid>(a);
}

/// relu(a) = max(a, 0)
template <expression A>
constexpr auto relu(A const& a) {
    return detail::build<operations::relu>(a);
}

/// leaky_relu(a, slope) = a above zero, slope * a below
template <expression A, operand Slope>
constexpr auto leaky_relu(A const& a, Slope const& slope) {
    return detail::build<operations::leaky_relu>(a, slope);
}

/// elu(a) = a above zero, exp(a) - 1 below
template <expression A>
constexpr auto elu(A const& a) {
    return detail::build<operations::elu>(a);
}

/// sum: adds an expression of q and k (and of parameters) over the features.
template <expression Body>
constexpr auto sum(Body const& body) {
    return detail::build<operations::sum>(body);
}

}  // namespace fovea
