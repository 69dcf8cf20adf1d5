// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Squares of differences inside functions that are steep somewhere: products in a call whose numbers keep away from
// there, sums for each pair in any other.
#pragma once

#include <fovea/expr/bound.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/plan/squares.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/projected_shapes.hpp>

#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

namespace detail {
/// Sums over features are finite, and otherwise anything; a sum of squares comes as relu of such.
template <class Real>
struct finite_sums : fovea::detail::bound_environment<Real> {
    static constexpr Real most = std::numeric_limits<Real>::max() / 64;
    constexpr auto sum(auto const&, auto const&) const { return interval<Real>{-most, most}; }
};

/// The values of expressions over all pairs of a call, by intervals.
template <class Real>
struct values_of_call {
    box const& pairs;
    bool within = true;

    template <class E>
    void stays_within(E const& e, double first, double last) {
        constexpr double slack = 0x1p-10;  // what intervals of functions leave for their error
        interval<Real> const x(evaluate(e, finite_sums<Real>{{pairs}}));
        within = within && static_cast<double>(x.lo) >= first - slack && static_cast<double>(x.hi) <= last + slack;
    }
};

/// A score that is computed in place of the one that was written.
template <class E>
struct expanded_score : stage<role::score> {
    [[no_unique_address]] E body{};
    constexpr auto expression() const { return body; }
};

template <class A, class E>
constexpr auto with_score(A const& a, E const& e) {
    return attention<decltype(a.project), expanded_score<E>, decltype(a.mask), decltype(a.normalize),
                     decltype(a.aggregate)>{a.project, {{}, e}, a.mask, a.normalize, a.aggregate};
}

template <class A>
constexpr bool may_expand() {
    if constexpr (!is_dense<A>) return false;
    else {
        using score = decltype(std::declval<A const&>().score.expression());
        if constexpr (!has_squares<score>) return false;
        else
            return !std::is_same_v<decltype(expand_squares(std::declval<score const&>())),
                                   decltype(expand_squares<true>(std::declval<score const&>()))>;
    }
}
}  // namespace detail

/// All pairs of a call.
constexpr box pairs_of(operand_shapes const& n) {
    return {{0, n.batches() - 1}, {0, n.heads() - 1}, {0, n.queries() - 1}, {0, n.keys() - 1},
            n.queries(),          n.keys(),           n.compared()};
}

/// Calls f with what is run for an attention over these pairs, in an arithmetic of type Real: the attention, or one
/// whose squares are products also inside of functions, which compiles a call of either.
template <class Real, class A, class F>
decltype(auto) with_expanded(A const& a, operand_shapes const& shapes, F const& f) {
    if constexpr (detail::may_expand<A>()) {
        auto const pairs = pairs_of(shapes);
        detail::values_of_call<Real> values{pairs};
        auto const score = expand_squares<true>(a.score.expression(), values);
        if (values.within) return f(detail::with_score(a, score));
    }
    return f(a);
}

}  // namespace fovea::FOVEA_SET::plan
