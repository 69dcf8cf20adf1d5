// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the rest of a score and a mask read of tables for a query alone, or for a key alone: read once for each query of
// a tile, and once for each key of a block.
#pragma once

#include <fovea/expr/bound.hpp>
#include <fovea/plan/index_terms.hpp>
#include <fovea/plan/lower.hpp>

#include <tuple>

namespace fovea::FOVEA_SET::plan {

namespace detail {
template <class E>
inline constexpr bool reads_reals = false;
template <class Operation, class... Children>
inline constexpr bool reads_reals<node<Operation, Children...>> = (reads_reals<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_reals<node<at_operation, parameter<T, Rank>, Indices...>> = !std::is_integral_v<T>;

/// True for a real of one side that reads a table. Where reals are compared (`Compared`), for an element of a table
/// alone: what is computed of elements there is rounded step by step, as bounds of blocks are, and stays where it is.
template <class E, bool Compared>
inline constexpr bool is_one_sided = !(Compared && !is_node_of<at_operation, E>) && reads_reals<E> && is_real<E>
                                  && !uses<E, q_t, k_t, edge_t, score_t> && !refers_to_parts<E>;
template <class E, bool Compared>
inline constexpr bool is_read_of_query = is_one_sided<E, Compared> && !uses<E, kv_idx_t>;
/// With `head`, it has a value for each of the heads that share keys, which is kept `PerHead`.
template <class E, bool Compared, bool PerHead>
inline constexpr bool is_read_of_key =
    is_one_sided<E, Compared> && uses<E, kv_idx_t> && !uses<E, q_idx_t> && (PerHead || !uses<E, head_t>);

template <bool Compared, bool PerHead, class E, class Parts>
constexpr auto hoist(E const& e, Parts const& found);

/// The children from I on, one after the other; `taken` are those before.
template <std::size_t I, bool Compared, bool PerHead, class E, class Parts, class... Taken>
constexpr auto hoist_children(E const& e, Parts const& found, Taken const&... taken) {
    if constexpr (I == E::arity) {
        auto const rest = make_node<typename E::operation>(taken...);
        return lowered<std::remove_const_t<decltype(rest)>, Parts>{rest, found};
    } else {
        auto const child = hoist<Compared, PerHead>(get<I>(e), found);
        return hoist_children<I + 1, Compared, PerHead>(e, child.parts, taken..., child.pointwise);
    }
}

template <bool Compared, bool PerHead, class E, class Parts>
constexpr auto hoist(E const& e, Parts const& found) {
    if constexpr (is_read_of_query<E, Compared>) return collect<part::row_term>(found, single_term<E>{e});
    else if constexpr (is_read_of_key<E, Compared, PerHead>) return collect<part::key_term>(found, single_term<E>{e});
    else if constexpr (!reads_reals<E> || is_node_of<at_operation, E>) return lowered<E, Parts>{e, found};
    else {
        constexpr bool compared = Compared || is_condition<E>;
        return hoist_children<0, compared, PerHead>(e, found);
    }
}

/// Bounds of a condition in which terms stand for reads of one side: each has the interval of what it reads.
template <class Real, class Parts>
struct bounds_of_parts : fovea::detail::bound_environment<Real> {
    Parts const& parts;

    using fovea::detail::bound_environment<Real>::operator();
    template <std::size_t I>
    constexpr auto operator()(reference<part::row_term, I>) const {
        return bound<Real>(hana::at_c<I>(parts.rows).expression, this->where);
    }
    template <std::size_t I>
    constexpr auto operator()(reference<part::key_term, I>) const {
        return bound<Real>(hana::at_c<I>(parts.keys).expression, this->where);
    }
};
}  // namespace detail

/// hoist: an expression without what it reads of tables for one side alone, and the parts found before with these
/// reads. In a condition, `pointwise` is one. `PerHead`: a term of the key may have a value for each head, with which
/// no product has queries in lanes.
template <bool PerHead, class E, class Parts>
constexpr auto hoist(E const& e, Parts const& found) {
    return detail::hoist<is_condition<E>, PerHead>(e, found);
}

/// What a hoisted condition says of a box of pairs.
template <class Real, class Predicate, class Parts>
constexpr truth bound_hoisted(Predicate const& predicate, Parts const& parts, box const& where) {
    if constexpr (!detail::refers_to_parts<Predicate>) return bound<Real>(predicate, where);
    else return evaluate(predicate, detail::bounds_of_parts<Real, Parts>{{where}, parts});
}

}  // namespace fovea::FOVEA_SET::plan
