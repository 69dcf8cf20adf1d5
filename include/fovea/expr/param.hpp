// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/expr/node.hpp>
#include <fovea/expr/placeholder.hpp>

#include <initializer_list>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

struct at_operation;

namespace detail {
template <class Table>
constexpr Table without_more_indices(Table const& table) {
    static_assert(never<Table>, "fovea: this table has fewer axes than indices");
    return table;
}
}  // namespace detail

/// A run-time table inside an expression; indexed by expressions, one for each axis.
///
/// With one index fewer than axes (and inside sum) it is a vector over the features.
template <class T, int Rank>
struct parameter : detail::without_value<parameter<T, Rank>> {
    using expression_tag = void;
    static constexpr int rank = Rank;
    using detail::without_value<parameter>::operator=;
    view<T const, Rank> table;

    constexpr parameter() = default;
    constexpr explicit parameter(view<T const, Rank> const& elements) : table(elements) {}

    template <operand Index>
    constexpr auto operator[](Index const& at) const {
        return node<at_operation, parameter, expression_of<Index>>{*this, as_expression(at)};
    }
    template <operand... Index>
        requires(sizeof...(Index) >= 1)
    constexpr auto operator()(Index const&... at) const {
        if constexpr (sizeof...(Index) <= Rank)
            return node<at_operation, parameter, expression_of<Index>...>{*this, as_expression(at)...};
        else return detail::without_more_indices((*this)[0]);
    }
};

/// table[i][j]: a further index on a table that has axes left.
template <class T, int Rank, class... Indices>
struct node<at_operation, parameter<T, Rank>, Indices...>
    : detail::children_at<std::index_sequence_for<int, Indices...>, parameter<T, Rank>, Indices...>,
      detail::without_value<node<at_operation, parameter<T, Rank>, Indices...>> {
    using expression_tag = void;
    using operation = at_operation;
    static constexpr std::size_t arity = 1 + sizeof...(Indices);
    static constexpr int free_axes = Rank - static_cast<int>(sizeof...(Indices));
    using detail::children_at<std::index_sequence_for<int, Indices...>, parameter<T, Rank>, Indices...>::children_at;
    using detail::without_value<node>::operator=;

    template <operand Index>
    constexpr auto operator[](Index const& at) const {
        if constexpr (free_axes > 0)
            return with_children(*this, [&](auto const&... children) {
                return node<at_operation, parameter<T, Rank>, Indices..., expression_of<Index>>{children...,
                                                                                                as_expression(at)};
            });
        else return detail::without_more_indices(*this);
    }
};

struct at_operation {
    static constexpr std::string_view name() { return "at"; }
};

template <class T, int Rank>
inline constexpr bool is_stateless<parameter<T, Rank>> = false;

template <class E>
inline constexpr bool is_parameter = false;
template <class T, int Rank>
inline constexpr bool is_parameter<parameter<T, Rank>> = true;

/// param: brings run-time data into an expression: a number, or a table that the caller keeps alive: a view or what
/// gives one.
///
///     param(2.5f)              a number
///     param(slopes)[head]      a table indexed by expressions
///     sum(param(v) * q)        a vector over the features
///
/// The table is read by each call: a change of an element shows in the next one. Its elements are exact integers,
/// conditions (bool) or reals. Nothing is broadcast: an axis of extent 1 has index 0.
/// Cost: what is not a condition is read once for a query or a key alone, else for each pair, best with kv_idx last.
/// Errors: a temporary container is refused, since the expression would outlive it; shape_error where a visible pair
/// reads outside a table.
template <class T>
    requires std::is_arithmetic_v<T>
constexpr auto param(T value) {
    return as_expression(value);
}

template <class Table>
    requires(!std::is_arithmetic_v<std::remove_cvref_t<Table>>)
FOVEA_INLINE constexpr auto param(Table&& table) {
    static_assert(
        !is_temporary_owner<Table>,
        "fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const v = detail::view_of(table);
    return parameter<typename std::remove_const_t<decltype(v)>::value_type, decltype(v)::rank>{v};
}

template <class T>
constexpr auto param(std::initializer_list<T>) {
    static_assert(never<T>,
                  "fovea: param keeps a view, and braces make a list that is destroyed at the end of the statement: "
                  "give the numbers a name");
    return parameter<T, 1>{};
}
template <class T>
constexpr auto param(std::initializer_list<std::initializer_list<T>>) {
    static_cast<void>(param(std::initializer_list<T>()));
    return parameter<T, 2>{};
}

namespace detail {
/// The reach of a table of distances from -reach to reach.
constexpr index_t reach_of_distances(char const* word, index_t distances) {
    if (distances % 2 == 0)
        raise_error(shape_error(word, ": a table of ", counted(distances, "distance"),
                                ": it needs 2 reach + 1, an odd number"));
    return (distances - 1) / 2;
}

/// param of what a word reads as a table of so many axes; of 0 where it says itself how many.
template <int Axes, class Table>
FOVEA_INLINE constexpr auto table_param(Table&& table) {
    using type = std::remove_cvref_t<Table>;
    // Containers of other libraries may have tags that look like those of expressions.
    constexpr bool elements = viewable<Table> || (!std::is_arithmetic_v<type> && !fovea::expression<type>);
    static_assert(elements, "fovea: this word reads a table by its indices: pass a view, a tensor or a container");
    using unknown = parameter<float, Axes == 0 ? 2 : Axes>;
    if constexpr (!elements) return unknown{};
    else {
        auto const all = param(std::forward<Table>(table));
        constexpr bool fits = !viewable<Table> || Axes == 0 || decltype(all)::rank == Axes;
        static_assert(fits, "fovea: this table has another number of axes than the word reads");
        if constexpr (viewable<Table> && fits) return all;
        else return unknown{};
    }
}

/// The argument of a word as an expression: a number, an expression or a table with an element for each `index`, such
/// as head or batch.
template <class Given, class Index>
constexpr auto computed_or_table(Given&& given, Index const& index) {
    if constexpr (operand<Given>) return as_expression(given);
    else return table_param<1>(std::forward<Given>(given))[index];
}
}  // namespace detail

/// of_pair: the element of a table for a pair: its axes are the last ones of (batch, head, query, key), and an axis of
/// extent 1 stands for all positions along it.
template <class Table>
constexpr auto of_pair(Table&& of_pairs) {
    static_assert(
        !is_temporary_owner<Table>,
        "fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement");
    auto const table = detail::view_of(of_pairs);
    constexpr int rank = decltype(table)::rank;
    static_assert(rank >= 1 && rank <= 4,
                  "fovea: a table over pairs is (key), (query, key), (head, query, key) or (batch, head, query, key)");
    using namespace placeholders;
    auto const all = param(detail::repeated(table));
    if constexpr (rank == 1) return all(kv_idx);
    else if constexpr (rank == 2) return all(q_idx, kv_idx);
    else if constexpr (rank == 3) return all(head, q_idx, kv_idx);
    else if constexpr (rank == 4) return all(batch, head, q_idx, kv_idx);
    else return literal<typename decltype(table)::value_type>{};
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
