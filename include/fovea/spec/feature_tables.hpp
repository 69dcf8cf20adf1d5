// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that are read feature by feature: one axis is left free of an index, and it runs along the features.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/expr/analyze.hpp>

#include <string>

namespace fovea::FOVEA_SET {

/// The number of axes of a table that have no index.
template <class E>
inline constexpr int free_axes_of = 0;
template <class T, int Rank>
inline constexpr int free_axes_of<parameter<T, Rank>> = Rank;
template <class T, int Rank, class... Indices>
inline constexpr int free_axes_of<node<at_operation, parameter<T, Rank>, Indices...>> =
    Rank - static_cast<int>(sizeof...(Indices));

/// The elements of a table with free axes.
template <class E>
struct feature_of {
    using type = void;
};
template <class T, int Rank>
struct feature_of<parameter<T, Rank>> {
    using type = T;
};
template <class T, int Rank, class... Indices>
    requires(Rank > static_cast<int>(sizeof...(Indices)))
struct feature_of<node<at_operation, parameter<T, Rank>, Indices...>> {
    using type = T;
};

namespace detail {
constexpr auto const& table_of(expression auto const& e) {
    if constexpr (is_parameter<std::remove_cvref_t<decltype(e)>>) return e.table;
    else return get<0>(e).table;
}
}  // namespace detail

/// Errors: shape_error when a table that is read feature by feature has not `features` elements along them.
template <class E>
void check_feature_tables(E const& e, index_t features, std::string const& owner) {
    if constexpr (free_axes_of<E> > 0) {
        static_assert(free_axes_of<E> == 1,
                      "fovea: a table has at most one axis without an index, the one of the features");
        auto const& table = detail::table_of(e);
        auto const has = table.extent(table.rank - 1);
        if (has != features)
            throw shape_error("a table read feature by feature has ", detail::counted(has, "element"), ", ", owner,
                              " has ", detail::counted(features, "feature"));
    } else if constexpr (is_node<E> && !is_node_of<at_operation, E>) {
        with_children(e, [&](auto const&... children) { (check_feature_tables(children, features, owner), ...); });
    }
}

/// Checks the tables in every sum of a score, which runs over the features of the query, or of the key where it has no
/// query.
template <class E>
void check_summed_tables(E const& e, index_t query_features, index_t key_features) {
    if constexpr (is_node_of<operations::sum, E>) {
        constexpr bool of_key = uses<E, k_t> && !uses<E, q_t>;
        check_feature_tables(get<0>(e), of_key ? key_features : query_features, of_key ? "key" : "query");
    } else if constexpr (is_node<E> && !is_node_of<at_operation, E>) {
        with_children(
            e, [&](auto const&... children) { (check_summed_tables(children, query_features, key_features), ...); });
    }
}

}  // namespace fovea::FOVEA_SET
