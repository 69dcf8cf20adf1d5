// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over features with a row of a table that the pair chooses: which they are, and those that are a product of the
// query, or of the key, and the row, such as vectors of distances.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/separate.hpp>

#include <tuple>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

/// True where an expression reads, feature by feature, a row of a table that neither the query nor the key chooses
/// alone.
template <class E>
inline constexpr bool reads_rows_of_pairs = false;
template <class Operation, class... Children>
inline constexpr bool reads_rows_of_pairs<node<Operation, Children...>> = (reads_rows_of_pairs<Children> || ...);
template <class T, int Rank, class... Indices>
inline constexpr bool reads_rows_of_pairs<node<at_operation, parameter<T, Rank>, Indices...>> = [] {
    using row = node<at_operation, parameter<T, Rank>, Indices...>;
    return free_axes_of<row> > 0 && !fovea::detail::of_query_side<row> && !fovea::detail::of_key_side<row>;
}();

/// The axis of a table along which the pair chooses a row, where all other indices are the same for all pairs of a
/// head; -1 where it is not so.
template <class Row>
inline constexpr int axis_of_pair = -1;
template <class T, int Rank, class... Indices>
    requires(Rank == static_cast<int>(sizeof...(Indices)) + 1)
inline constexpr int axis_of_pair<node<at_operation, parameter<T, Rank>, Indices...>> = [] {
    constexpr bool counts = (is_whole_number<Indices> && ...) && !(has_sum<Indices> || ...)
                         && !(uses<Indices, q_t, k_t, edge_t, score_t> || ...);
    int axis = 0, found = -1, count = 0;
    ((uses<Indices, q_idx_t, kv_idx_t> ? (found = axis, ++count) : 0, ++axis), ...);
    return counts && count == 1 && (uses<Indices, kv_idx_t> || ...) && fovea::detail::is_real_number<T> ? found : -1;
}();

/// Expressions of one side alone: of the query, or of the key.
struct query_side {
    template <class E>
    static constexpr bool has = fovea::detail::of_query_side<E>;
};
struct key_side {
    template <class E>
    static constexpr bool has = fovea::detail::of_key_side<E>;
};

/// True for a row of a table that the pair chooses, times what depends on `Side` alone.
template <class Side, class E>
inline constexpr bool multiplies_row_of_pair = reads_rows_of_pairs<E> && axis_of_pair<E> >= 0;
template <class Side, class A, class B>
inline constexpr bool multiplies_row_of_pair<Side, node<operations::times, A, B>> =
    (multiplies_row_of_pair<Side, A> && Side::template has<B>)
    || (Side::template has<A> && multiplies_row_of_pair<Side, B>);
template <class Side, class A, class B>
inline constexpr bool multiplies_row_of_pair<Side, node<operations::divided, A, B>> =
    multiplies_row_of_pair<Side, A> && Side::template has<B>;
template <class Side, class A>
inline constexpr bool multiplies_row_of_pair<Side, node<operations::negate, A>> = multiplies_row_of_pair<Side, A>;

/// Its factors: the row, and what is of one side.
template <class Factor, class Row>
struct row_product {
    static constexpr int axis = axis_of_pair<Row>;
    Factor factor{};
    Row row{};

    /// The index that the pair chooses.
    constexpr auto const& index() const { return get<std::size_t{axis + 1}>(row); }
    constexpr auto const& table() const { return get<0>(row).table; }
    static constexpr bool differs_by_head = uses<Row, head_t>;
};

template <class E>
constexpr auto row_product_of(E const& e) {
    using namespace fovea::detail;
    [[maybe_unused]] auto const with = [](auto const& factor, auto const& row) {
        return row_product<std::remove_cvref_t<decltype(factor)>, std::remove_cvref_t<decltype(row)>>{factor, row};
    };
    if constexpr (is_node_of<at_operation, E>) {
        return with(unit{}, e);
    } else if constexpr (is_node_of<operations::negate, E>) {
        auto const a = row_product_of(get<0>(e));
        return with(multiply(literal<index_t>{-1}, a.factor), a.row);
    } else if constexpr (is_node_of<operations::divided, E>) {
        auto const a = row_product_of(get<0>(e));
        return with(multiply(a.factor, literal<double>{1} / get<1>(e)), a.row);
    } else if constexpr (reads_rows_of_pairs<std::remove_cvref_t<decltype(get<0>(e))>>) {
        auto const a = row_product_of(get<0>(e));
        return with(multiply(a.factor, get<1>(e)), a.row);
    } else {
        auto const a = row_product_of(get<1>(e));
        return with(multiply(get<0>(e), a.factor), a.row);
    }
}

// --- sums of several products ---

namespace detail {
/// True for a (b + c), or (b + c) a, of which a is of one side and a row is in the sum.
template <class E>
inline constexpr bool multiplies_sum_with_row = false;
template <class A, class B>
inline constexpr bool multiplies_sum_with_row<node<operations::times, A, B>> = [] {
    constexpr auto adds = []<class E>(std::type_identity<E>) {
        return (is_node_of<operations::plus, E> || is_node_of<operations::minus, E>) && reads_rows_of_pairs<E>;
    };
    constexpr auto is_factor = []<class E>(std::type_identity<E>) {
        return fovea::detail::of_query_side<E> || fovea::detail::of_key_side<E>;
    };
    return (is_factor(std::type_identity<A>{}) && adds(std::type_identity<B>{}))
        || (is_factor(std::type_identity<B>{}) && adds(std::type_identity<A>{}));
}();
}  // namespace detail

/// split_sums_with_rows: sum(a (b + row)) = sum(a b) + sum(a row), of which each is a product; also inside of what is
/// computed of the sum, since both are rounded like it.
template <class E>
constexpr auto split_sums_with_rows(E const& e) {
    if constexpr (!reads_rows_of_pairs<E> || is_node_of<at_operation, E>) {
        return e;
    } else if constexpr (is_node_of<operations::sum, E>) {
        using body = std::remove_cvref_t<decltype(get<0>(e))>;
        if constexpr (!detail::multiplies_sum_with_row<body>) {
            return e;
        } else {
            auto const split = [&](auto const& both, auto const& product_with) {
                auto const over = features_of_sum(e);
                return make_node<typename std::remove_cvref_t<decltype(both)>::operation>(
                    split_sums_with_rows(sum_over(product_with(get<0>(both)), over)),
                    split_sums_with_rows(sum_over(product_with(get<1>(both)), over)));
            };
            if constexpr (reads_rows_of_pairs<std::remove_cvref_t<decltype(get<1>(get<0>(e)))>>)
                return split(get<1>(get<0>(e)), [&](auto const& x) { return get<0>(get<0>(e)) * x; });
            else return split(get<0>(get<0>(e)), [&](auto const& x) { return x * get<1>(get<0>(e)); });
        }
    } else {
        return with_children(e, [](auto const&... children) {
            return make_node<typename E::operation>(split_sums_with_rows(children)...);
        });
    }
}

}  // namespace fovea::FOVEA_SET::plan
