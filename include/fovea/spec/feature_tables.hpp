// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which features sums run over, and tables that are read feature by feature: one axis is left free of an index, and it
// runs along the features.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/errors.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/print.hpp>

namespace fovea::FOVEA_SET {

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

/// Errors: shape_error when a table that is read feature by feature has not `features` elements along them.
template <class E>
void check_feature_tables(E const& e, index_t features, char const* owner) {
    if constexpr (free_axes_of<E> > 0) {
        static_assert(free_axes_of<E> == 1,
                      "fovea: a table has at most one axis without an index, the one of the features");
        auto const& table = detail::table_of(e);
        auto const has = table.extent(table.rank - 1);
        if (has != features)
            raise_error(shape_error("a table read feature by feature has ", detail::counted(has, "element"), ", ",
                                    owner, " has ", detail::counted(features, "feature")));
    } else if constexpr (is_node<E> && !is_node_of<at_operation, E>) {
        with_children(e, [&](auto const&... children) { (check_feature_tables(children, features, owner), ...); });
    }
}

namespace detail {
/// Errors: shape_error where a sum runs beyond the features of query or key.
template <class Sum>
[[gnu::noinline]] void check_range(Sum const& sum, index_t query_features, index_t key_features) {
    auto const [first, count] = features_of_sum(sum).span;
    auto const check = [&, end = first + count](index_t features, char const* owner) {
        if (end > features)
            raise_error(shape_error(print(sum), " needs ", counted(end, "feature"), ", ", owner, " has ", features));
    };
    if constexpr (uses<Sum, q_t>) check(query_features, "query");
    if constexpr (uses<Sum, k_t>) check(key_features, "key");
}
}  // namespace detail

/// Checks every sum of a score, which runs over the features of the query, or of the key where it has no query, over
/// the elements of its tables where it has neither, or over a range: that they are there, and that its tables have
/// that many.
template <class E>
void check_summed_features(E const& e, index_t query_features, index_t key_features) {
    if constexpr (is_node_of<operations::sum, E>) {
        using over = decltype(features_of_sum(e));
        if constexpr (E::arity == 2) detail::check_range(e, query_features, key_features);
        check_feature_tables(get<0>(e), features_of_sum(e).of(query_features, key_features).count,
                             E::arity == 2                      ? "the range of its sum"
                             : sums_tables<E>                   ? "another of its sum"
                             : std::is_same_v<over, all_of_key> ? "key"
                                                                : "query");
    } else if constexpr (is_node<E> && !is_node_of<at_operation, E>) {
        with_children(
            e, [&](auto const&... children) { (check_summed_features(children, query_features, key_features), ...); });
    }
}

}  // namespace fovea::FOVEA_SET
