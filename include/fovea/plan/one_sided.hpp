// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that are known before scores are computed of them. Those that depend on a query or a key alone: reads of
// tables, and integers that take a division; computed once for each query of a tile, and once for each key of a block.
// Elements of tables of pairs, which are transposed where queries are in lanes.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/plan/lower.hpp>

#include <tuple>

namespace fovea::FOVEA_SET::plan {

enum class side { query, key };

/// The place of an index term in an expression: an integer that is known for each query, or each key.
template <side Of, std::size_t Position>
struct index_reference {
    using expression_tag = void;
};

/// The place of an element of a table of pairs.
template <class Element, std::size_t Position>
struct pair_reference {
    using expression_tag = void;
};
}  // namespace fovea::FOVEA_SET::plan

namespace fovea::FOVEA_SET {
template <plan::side Of, std::size_t Position>
inline constexpr bool is_whole_number<plan::index_reference<Of, Position>> = true;
template <class Element, std::size_t Position>
inline constexpr bool is_whole_number<plan::pair_reference<Element, Position>> =
    !detail::is_real_number<Element> && !detail::is_truth<Element>;
template <class Element, std::size_t Position>
inline constexpr bool is_condition<plan::pair_reference<Element, Position>> = detail::is_truth<Element>;
}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET::plan {

namespace detail {
template <class E>
inline constexpr bool divides = false;
template <class Operation, class... Children>
inline constexpr bool divides<node<Operation, Children...>> =
    std::is_same_v<Operation, operations::divided> || std::is_same_v<Operation, operations::modulo>
    || std::is_same_v<Operation, operations::floor_div> || (divides<Children> || ...);

template <class E>
inline constexpr bool reads_integers = false;
template <class Operation, class... Children>
inline constexpr bool reads_integers<node<Operation, Children...>> = (reads_integers<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_integers<node<at_operation, parameter<T, Rank>, Indices...>> =
    is_whole_number<node<at_operation, parameter<T, Rank>, Indices...>> || (reads_integers<Indices> || ...);

/// True where an expression refers to a part of the score.
template <class E>
inline constexpr bool refers_to_parts = false;
template <part Kind, std::size_t Position>
inline constexpr bool refers_to_parts<reference<Kind, Position>> = true;
template <class Operation, class... Children>
inline constexpr bool refers_to_parts<node<Operation, Children...>> = (refers_to_parts<Children> || ...);

template <side Of, class E>
inline constexpr bool is_index_term = [] {
    if constexpr (!is_whole_number<E> || uses<E, edge_t> || refers_to_parts<E>) return false;
    else if constexpr (!divides<E> && !reads_integers<E>) return false;
    else if constexpr (Of == side::query) return uses<E, q_idx_t, head_t> && !uses<E, kv_idx_t>;
    else return uses<E, kv_idx_t> && !uses<E, q_idx_t, head_t>;
}();

template <class E>
inline constexpr bool has_index_term = is_index_term<side::query, E> || is_index_term<side::key, E>;
template <class Operation, class... Children>
inline constexpr bool has_index_term<node<Operation, Children...>> =
    is_index_term<side::query, node<Operation, Children...>> || is_index_term<side::key, node<Operation, Children...>>
    || (has_index_term<Children> || ...);

/// The element of a read of a table of pairs: the query chooses a row, the key's position an element of it. void for
/// what is no such read.
template <class E>
struct pair_element : std::type_identity<void> {};
template <class T, int Rank, class... Indices>
    requires(sizeof...(Indices) == Rank && (uses<Indices, q_idx_t> || ...)
             && std::is_same_v<std::tuple_element_t<sizeof...(Indices) - 1, std::tuple<Indices...>>, kv_idx_t>
             && (int{uses<Indices, kv_idx_t, edge_t, score_t> || refers_to_parts<Indices>} + ...) == 1)
struct pair_element<node<at_operation, parameter<T, Rank>, Indices...>> : std::type_identity<T> {};
template <class E>
inline constexpr bool is_pair_read = !std::is_void_v<typename pair_element<E>::type>;

template <class E>
inline constexpr bool has_pair_read = false;
template <class Operation, class... Children>
inline constexpr bool has_pair_read<node<Operation, Children...>> =
    is_pair_read<node<Operation, Children...>> || (has_pair_read<Children> || ...);

/// An expression without its terms, and these.
template <class E, class Queries, class Keys, class Pairs>
struct without_terms {
    E expression{};
    Queries queries{};
    Keys keys{};
    Pairs pairs{};
};
template <class E, class Queries, class Keys, class Pairs>
without_terms(E, Queries, Keys, Pairs) -> without_terms<E, Queries, Keys, Pairs>;

template <bool TakesPairs, class E, class Found>
constexpr auto take_terms(E const& e, Found const& found);

/// The children from I on, one after the other; `taken` are those before.
template <bool TakesPairs, std::size_t I, class E, class Found, class... Taken>
constexpr auto take_terms_of_children(E const& e, Found const& found, Taken const&... taken) {
    if constexpr (I == E::arity) {
        return without_terms{make_node<typename E::operation>(taken...), found.queries, found.keys, found.pairs};
    } else {
        auto const child = take_terms<TakesPairs>(get<I>(e), found);
        return take_terms_of_children<TakesPairs, I + 1>(e, child, taken..., child.expression);
    }
}

template <bool TakesPairs, class E, class Found>
constexpr auto take_terms(E const& e, Found const& found) {
    auto const& [before, queries, keys, pairs] = found;
    if constexpr (is_index_term<side::query, E>)
        return without_terms{
            index_reference<side::query, static_cast<std::size_t>(count_of<decltype(Found::queries)>)>{},
            hana::append(queries, e), keys, pairs};
    else if constexpr (is_index_term<side::key, E>)
        return without_terms{index_reference<side::key, static_cast<std::size_t>(count_of<decltype(Found::keys)>)>{},
                             queries, hana::append(keys, e), pairs};
    else if constexpr (TakesPairs && is_pair_read<E>)
        return without_terms{pair_reference<typename pair_element<E>::type,
                                            static_cast<std::size_t>(count_of<decltype(Found::pairs)>)>{},
                             queries, keys, hana::append(pairs, e)};
    else if constexpr (has_index_term<E> || (TakesPairs && has_pair_read<E>))
        return take_terms_of_children<TakesPairs, 0>(e, found);
    else return without_terms{e, queries, keys, pairs};
}
}  // namespace detail

/// True where an expression reads a row of a query, but no table of pairs.
template <class E>
inline constexpr bool reads_along_keys = false;
template <class Operation, class... Children>
inline constexpr bool reads_along_keys<node<Operation, Children...>> = (reads_along_keys<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_along_keys<node<at_operation, parameter<T, Rank>, Indices...>> =
    reads_a_row_of_query<node<at_operation, parameter<T, Rank>, Indices...>>
    && !detail::is_pair_read<node<at_operation, parameter<T, Rank>, Indices...>>;

/// The rest of a score and a predicate without their terms. The first `PairsOfPointwise` of `pairs` are those of the
/// rest of the score.
template <class Pointwise, class Predicate, class Queries, class Keys, class Pairs, index_t PairsOfPointwise>
struct index_terms {
    static constexpr index_t pairs_of_pointwise = PairsOfPointwise, pairs_of_both = count_of<Pairs>;
    Pointwise pointwise{};
    Predicate predicate{};
    Queries queries{};
    Keys keys{};
    Pairs pairs{};
};

/// take_index_terms: of tables of pairs only where it `TakesPairs`.
template <bool TakesPairs = false, class Pointwise, class Predicate>
constexpr auto take_index_terms(Pointwise const& pointwise, Predicate const& predicate) {
    using none = hana::tuple<>;
    auto const a = detail::take_terms<TakesPairs>(pointwise, detail::without_terms{unit{}, none{}, none{}, none{}});
    auto const b = detail::take_terms<TakesPairs>(predicate, a);
    return index_terms<std::remove_cvref_t<decltype(a.expression)>, std::remove_cvref_t<decltype(b.expression)>,
                       std::remove_cvref_t<decltype(b.queries)>, std::remove_cvref_t<decltype(b.keys)>,
                       std::remove_cvref_t<decltype(b.pairs)>, count_of<decltype(a.pairs)>>{a.expression, b.expression,
                                                                                            b.queries, b.keys, b.pairs};
}

namespace detail {
template <class E>
inline constexpr bool reads_reals = false;
template <class Operation, class... Children>
inline constexpr bool reads_reals<node<Operation, Children...>> = (reads_reals<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_reals<node<at_operation, parameter<T, Rank>, Indices...>> =
    fovea::detail::is_real_number<T>;

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

/// Nothing is known of a table before it is read.
struct nothing_known {
    template <class T, int Rank>
    static auto range(view<T const, Rank> const& table, std::array<interval<index_t>, std::size_t{Rank}> const& at) {
        return fovea::detail::range_of(table, at, most_elements());
    }
    static constexpr index_t most_elements() { return fovea::detail::elements_in_box; }
};

/// Bounds of a condition in which terms stand for reads of one side: each has the interval of what it reads. Of tables
/// `known` has the ranges.
template <class Real, class Parts, class Known>
struct bounds_of_parts : fovea::detail::bound_environment<Real> {
    Parts const& parts;
    Known const& known;

    template <class T, int Rank, class... Index>
    constexpr auto lookup(view<T const, Rank> const& table, Index const&... at) const {
        return fovea::detail::bounds_of_element<Real, T>(known.range(table, {interval<index_t>(at)...}));
    }

    using fovea::detail::bound_environment<Real>::operator();
    template <std::size_t I>
    constexpr auto operator()(reference<part::row_term, I>) const {
        return bound<Real>(hana::at_c<I>(parts.rows).expression, this->where, known.most_elements());
    }
    template <std::size_t I>
    constexpr auto operator()(reference<part::key_term, I>) const {
        return bound<Real>(hana::at_c<I>(parts.keys).expression, this->where, known.most_elements());
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

/// The value of a hoisted condition over a box of pairs.
template <class Real, class Predicate, class Parts, class Known = detail::nothing_known>
constexpr truth bound_hoisted(Predicate const& predicate, Parts const& parts, box const& where,
                              Known const& known = {}) {
    return truth(evaluate(predicate, detail::bounds_of_parts<Real, Parts, Known>{{where}, parts, known}));
}

}  // namespace fovea::FOVEA_SET::plan
