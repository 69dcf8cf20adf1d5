// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers that depend on the index of a query alone, or of a key, and take a division or an element of a table:
// computed once for each query of a tile, and once for each key of a block.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/plan/lower.hpp>

namespace fovea::FOVEA_SET::plan {

enum class side { query, key };

/// The place of an index term in an expression: an integer that is known for each query, or each key.
template <side Of, std::size_t Position>
struct index_reference {
    using expression_tag = void;
};
}  // namespace fovea::FOVEA_SET::plan

namespace fovea::FOVEA_SET {
template <plan::side Of, std::size_t Position>
inline constexpr bool is_whole_number<plan::index_reference<Of, Position>> = true;
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

/// An expression without its index terms, and these.
template <class E, class Queries, class Keys>
struct without_terms {
    E expression{};
    Queries queries{};
    Keys keys{};
};
template <class E, class Queries, class Keys>
without_terms(E, Queries, Keys) -> without_terms<E, Queries, Keys>;

template <class E, class Queries, class Keys>
constexpr auto take_terms(E const& e, Queries const& queries, Keys const& keys);

/// The children from I on, one after the other; `taken` are those before.
template <std::size_t I, class E, class Queries, class Keys, class... Taken>
constexpr auto take_terms_of_children(E const& e, Queries const& queries, Keys const& keys, Taken const&... taken) {
    if constexpr (I == E::arity) {
        return without_terms{make_node<typename E::operation>(taken...), queries, keys};
    } else {
        auto const child = take_terms(get<I>(e), queries, keys);
        return take_terms_of_children<I + 1>(e, child.queries, child.keys, taken..., child.expression);
    }
}

template <class E, class Queries, class Keys>
constexpr auto take_terms(E const& e, Queries const& queries, Keys const& keys) {
    if constexpr (is_index_term<side::query, E>)
        return without_terms{index_reference<side::query, static_cast<std::size_t>(count_of<Queries>)>{},
                             hana::append(queries, e), keys};
    else if constexpr (is_index_term<side::key, E>)
        return without_terms{index_reference<side::key, static_cast<std::size_t>(count_of<Keys>)>{}, queries,
                             hana::append(keys, e)};
    else if constexpr (has_index_term<E>) return take_terms_of_children<0>(e, queries, keys);
    else return without_terms{e, queries, keys};
}
}  // namespace detail

/// The rest of a score and a predicate without their index terms.
template <class Pointwise, class Predicate, class Queries, class Keys>
struct index_terms {
    Pointwise pointwise{};
    Predicate predicate{};
    Queries queries{};
    Keys keys{};
};

template <class Pointwise, class Predicate>
constexpr auto take_index_terms(Pointwise const& pointwise, Predicate const& predicate) {
    auto const a = detail::take_terms(pointwise, hana::tuple<>{}, hana::tuple<>{});
    auto const b = detail::take_terms(predicate, a.queries, a.keys);
    return index_terms<std::remove_cvref_t<decltype(a.expression)>, std::remove_cvref_t<decltype(b.expression)>,
                       std::remove_cvref_t<decltype(b.queries)>, std::remove_cvref_t<decltype(b.keys)>>{
        a.expression, b.expression, b.queries, b.keys};
}

}  // namespace fovea::FOVEA_SET::plan
