// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Back through the factors of pairwise terms: the derivatives of what factoring introduces, and which terms have them.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/plan/factor.hpp>
#include <fovea/plan/score_parts.hpp>

#include <cstddef>
#include <type_traits>

namespace fovea::FOVEA_SET {

namespace derivatives {
template <>
inline constexpr auto by_operands<reciprocal_of_sum> =
    by_each{[](auto const& e, auto const&, auto const&) { return -square(e); },
            [](auto const& e, auto const&, auto const&) { return -square(e); }};
template <>
inline constexpr auto by_operands<tanh_of_product> =
    by_each{[](auto const&, auto const& a, auto const& b) {
                return 2 * (b * square(make_node<reciprocal_of_sum>(literal<double>{1}, a * b)));
            },
            [](auto const&, auto const& a, auto const& b) {
                return 2 * (a * square(make_node<reciprocal_of_sum>(literal<double>{1}, a * b)));
            }};
}  // namespace derivatives

namespace plan {

template <class E>
inline constexpr bool is_factor = false;
template <std::size_t I>
inline constexpr bool is_factor<query_factor<I>> = true;
template <std::size_t I>
inline constexpr bool is_factor<key_factor<I>> = true;

namespace detail {
template <class Tables>
struct tables_of_body {
    template <class E>
    static constexpr bool takes = [] {
        if constexpr (is_parameter<E>) return Tables::template takes<E>;
        else return false;
    }();
};
}  // namespace detail

/// True where all that the gradient of a pairwise term reaches is in its factors: then a pair has amounts of factors
/// alone, and what these are made of is done once for each query and each key.
template <class Pair, class Tables>
inline constexpr bool goes_back_by_factors =
    count_of<decltype(Pair{}.factors.queries)> > 0 && count_of<decltype(Pair{}.factors.keys)> > 0
    && !reaches<std::remove_cvref_t<decltype(std::declval<Pair>().factors.body)>, detail::tables_of_body<Tables>>;

}  // namespace plan

}  // namespace fovea::FOVEA_SET
