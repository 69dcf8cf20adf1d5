// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/expr/analyze.hpp>

namespace fovea::FOVEA_SET {

using feature_range = node<operations::features, literal<index_t>, literal<index_t>>;

/// features: the features that a sum runs over, from the first to the one before the end.
///
///     sum(q * k, features(0, 64))    sum(square(param(place)[q_idx] - k), features(0, 3))
///
/// Shapes: a table in such a sum has an element for each feature of the range. `dim` stays the number of all features.
/// Cost: that of the features of the range; each sum is a part of its own, so a score may have several matrix products.
/// Edge cases: where every sum of query and key has a range, they may have different numbers of features.
/// Errors: std::invalid_argument for a range that is empty or begins below 0; shape_error where it ends beyond the
/// features of query or key, or a table has another number of elements. At compile time, outside of sum().
template <class First, class End>
constexpr feature_range features(First const& first, End const& end) {
    if constexpr (detail::is_integer_argument<First>() && detail::is_integer_argument<End>()) {
        index_t const from = integer_argument(first), to = integer_argument(end);
        detail::require_0_or_more("features: the first feature", from);
        if (to <= from)
            detail::refuse_number("features: the end of the range", static_cast<double>(to), "above its first feature");
        return {literal<index_t>{from}, literal<index_t>{to}};
    } else {
        return {literal<index_t>{0}, literal<index_t>{1}};
    }
}
template <class... Others>
    requires(sizeof...(Others) != 2)
constexpr ill_formed features(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

/// The number of axes of a table that have no index.
template <class E>
inline constexpr int free_axes_of = 0;
template <class T, int Rank>
inline constexpr int free_axes_of<parameter<T, Rank>> = Rank;
template <class T, int Rank, class... Indices>
inline constexpr int free_axes_of<node<at_operation, parameter<T, Rank>, Indices...>> =
    Rank - static_cast<int>(sizeof...(Indices));

/// True where an expression has a table that is read feature by feature.
template <class E>
inline constexpr bool reads_features = free_axes_of<E> > 0;
template <class Operation, class... Children>
    requires(!std::is_same_v<Operation, at_operation>)
inline constexpr bool reads_features<node<Operation, Children...>> = (reads_features<Children> || ...);

/// True where one of these names chooses the row of such a table.
template <class E, class... Placeholder>
inline constexpr bool chooses_features = free_axes_of<E> > 0 && uses<E, Placeholder...>;
template <class Operation, class... Children, class... Placeholder>
    requires(!std::is_same_v<Operation, at_operation>)
inline constexpr bool chooses_features<node<Operation, Children...>, Placeholder...> =
    (chooses_features<Children, Placeholder...> || ...);

/// True where an expression has features of the query, or of the key: its own, or a row of a table for its position.
template <class E>
inline constexpr bool has_query_features = uses<E, q_t> || chooses_features<E, q_idx_t>;
template <class E>
inline constexpr bool has_key_features = uses<E, k_t> || chooses_features<E, kv_idx_t>;

/// Features of a row: `count` of them from `first` on.
struct feature_span {
    index_t first, count;
};

/// The features of a sum, among so many of query and key: all of the query, all of the key where the query has
/// none in it, or some.
struct all_of_query {
    static constexpr bool takes_all = true;
    static constexpr feature_span of(index_t query, index_t) { return {0, query}; }
};
struct all_of_key {
    static constexpr bool takes_all = true;
    static constexpr feature_span of(index_t, index_t key) { return {0, key}; }
};
struct some_features {
    static constexpr bool takes_all = false;
    feature_span span{};
    constexpr feature_span of(index_t, index_t) const { return span; }
};
template <>
inline constexpr bool is_stateless<some_features> = false;

namespace detail {
constexpr auto const& table_of(expression auto const& e) {
    if constexpr (is_parameter<std::remove_cvref_t<decltype(e)>>) return e.table;
    else return get<0>(e).table;
}

/// The elements of the first table that is read feature by feature; -1 where there is none.
template <class E>
constexpr index_t elements_read(E const& e) {
    index_t elements = -1;
    if constexpr (free_axes_of<E> > 0) {
        auto const& table = table_of(e);
        elements = table.extent(table.rank - 1);
    } else if constexpr (reads_features<E>) {
        with_children(
            e, [&](auto const&... children) { ((elements = elements < 0 ? elements_read(children) : elements), ...); });
    }
    return elements;
}
}  // namespace detail

/// True for a sum without q and k over the rows of tables, whose elements then are its features.
template <class E>
inline constexpr bool sums_tables = false;
template <class Body>
inline constexpr bool sums_tables<node<operations::sum, Body>> = !uses<Body, q_t, k_t> && reads_features<Body>;

/// The features of a sum.
template <class Sum>
constexpr auto features_of_sum(Sum const& sum) {
    if constexpr (Sum::arity == 2) {
        index_t const first = get<0>(get<1>(sum)).value;
        return some_features{{first, get<1>(get<1>(sum)).value - first}};
    } else if constexpr (sums_tables<Sum>) {
        return some_features{{0, detail::elements_read(get<0>(sum))}};
    } else if constexpr (uses<Sum, k_t> && !uses<Sum, q_t>) {
        return all_of_key{};
    } else {
        return all_of_query{};
    }
}

/// The sum of a body over these features.
template <class Body, class Over>
constexpr auto sum_over(Body const& body, Over const& over) {
    if constexpr (Over::takes_all) {
        return make_node<operations::sum>(body);
    } else {
        auto const [first, count] = over.span;
        return make_node<operations::sum>(body,
                                          feature_range{literal<index_t>{first}, literal<index_t>{first + count}});
    }
}

}  // namespace fovea::FOVEA_SET
