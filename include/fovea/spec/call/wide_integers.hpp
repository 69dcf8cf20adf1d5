// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The integers of a call that need 64 bits, by the ranges of its indices.
#pragma once

#include <fovea/core/interval.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/evaluate.hpp>
#include <fovea/spec/call/table_bounds.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// fits_32_bits: whether every integer that an expression comes to on its way is one of 32 bits, by the intervals that
/// an environment gives names and tables.
///
/// Random numbers count with the low halves of their indices, and what a table has for each feature is real: neither
/// asks for more.
template <class E, class Environment>
bool fits_32_bits(E const& e, Environment const& names) {
    if constexpr (is_whole_number<E>) {
        interval<index_t> const range = evaluate(e, names);
        using narrow = std::numeric_limits<std::int32_t>;
        if (range.lo < narrow::min() || range.hi > narrow::max()) return false;
    }
    if constexpr (is_node_of<operations::random, E>) return true;
    else if constexpr (is_node<E>)
        return with_children(e, [&](auto const&... children) { return (fits_32_bits(children, names) && ...); });
    else return true;
}

namespace detail {
/// Names over all pairs of a call; tables are looked at where they are no longer than the operands.
template <class Real>
struct range_environment : read_environment<Real> {
    index_t most;
    range_environment(read_box const& b, index_t elements) : read_environment<Real>(b), most(elements) {}

    using read_environment<Real>::operator();
    template <fixed_string Name>  // features, scores, weights
    constexpr auto operator()(placeholder<Name>) const
        requires(!is_whole_number<placeholder<Name>>)
    {
        return interval<Real>::everything();
    }
    template <class T, int Rank, class... Index>
    auto lookup(view<T const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) < Rank) return interval<Real>::everything();
        else {
            return bounds_of_element<Real, T>(range_of(table, {interval<index_t>(at)...}, most));
        }
    }
};
}  // namespace detail

/// True where an integer of a specification may need more than the 32 bits that it has beside numbers of type Real.
template <class Real, attention_spec A>
constexpr bool may_need_wide_integers() {
    auto const may = []<class E>(std::type_identity<E>) { return may_exceed_32_bits<std::remove_cvref_t<E>>; };
    using score = decltype(std::declval<A const&>().score.expression());
    using predicate = decltype(std::declval<A const&>().mask.predicate());
    using reweighting = decltype(reweighting_of(std::declval<A const&>().normalize));
    return sizeof(Real) == 4
        && (may(std::type_identity<score>{}) || may(std::type_identity<predicate>{})
            || may(std::type_identity<reweighting>{}));
}

/// needs_wide_integers: whether some integer of a specification needs more than the bits that it has in this call, by
/// intervals over all of its pairs in the arithmetic of the call. Cost: the elements of its tables of positions, once.
template <class Real, attention_spec A>
bool needs_wide_integers(A const& a, operand_shapes const& shapes) {
    using namespace detail;
    if constexpr (!may_need_wide_integers<Real, A>()) return false;
    if (shapes.batches() == 0 || shapes.heads() == 0 || shapes.queries() == 0 || shapes.keys() == 0) return false;
    auto all = all_pairs(shapes);
    if constexpr (enumerating_mask<decltype(a.mask)>) all.edge.hi = a.mask.neighbor_list().edges();
    index_t const positions = shapes.batches() * shapes.heads() * (shapes.queries() + shapes.keys());
    range_environment<Real> const names(all, std::max<index_t>(positions, 1 << 16));
    auto const fits = [&](auto const& e) {
        if constexpr (may_exceed_32_bits<std::remove_cvref_t<decltype(e)>>) return fits_32_bits(e, names);
        else return true;
    };
    return !fits(a.score.expression()) || !fits(a.mask.predicate()) || !fits(reweighting_of(a.normalize));
}

}  // namespace fovea::FOVEA_SET
