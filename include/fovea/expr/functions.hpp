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
constexpr auto erf(A const& a) {
    return detail::build<operations::erf>(a);
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

/// silu(a) = a sigmoid(a)
template <expression A>
constexpr auto silu(A const& a) {
    return detail::build<operations::silu>(a);
}

/// gelu(a) = a (1 + erf(a / sqrt(2))) / 2
template <expression A>
constexpr auto gelu(A const& a) {
    return detail::build<operations::gelu>(a);
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

/// random: a number between 0 and 1 for each pair of each head, evenly spread; the same for the same seed on any
/// machine, for any number of threads. Different seeds give numbers that have nothing to do with each other.
constexpr auto random(index_t seed) {
    using namespace placeholders;
    return make_node<operations::random>(as_expression(seed), batch, head, q_idx, kv_idx);
}

/// sum: adds an expression of q and k (and of parameters) over the features.
template <expression Body>
constexpr auto sum(Body const& body) {
    return detail::build<operations::sum>(body);
}

}  // namespace fovea
