// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a lowered score as types: what it has to compute and what it reads of the forward pass; for listed
// keys, where every factor of a product is a part or stands in the rest; and for terms that have been factored.
#pragma once

#include <fovea/expr/backpropagate.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/plan/factor.hpp>
#include <fovea/plan/lower.hpp>
#include <fovea/plan/lowered_spec.hpp>
#include <fovea/plan/score_parts.hpp>
#include <fovea/plan/traversal.hpp>

#include <boost/hana/append.hpp>
#include <boost/hana/transform.hpp>

#include <cstddef>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

/// Into how many tasks the rows of each key head are split: fewer heads than threads would leave some of these idle.
/// Each task has sums of all keys, which are joined in order, so that the number depends on sizes alone, and rows are
/// many beside it.
constexpr index_t query_splits(index_t key_heads, index_t queries) {
    constexpr index_t tasks = 8, least_queries = 512;
    return std::clamp<index_t>(queries / least_queries, 1, ceil_div(tasks, std::max<index_t>(key_heads, 1)));
}

/// True where a matrix unit computes the products of a gradient with queries in lanes: of queries, keys and values that
/// are bfloat16, and of the gradients of results in parts.
template <class Call, class ValueRows, class D>
inline constexpr bool gradient_uses_matrix_unit = [] {
    using keys = std::remove_const_t<decltype(Call::operands::key)>;
    if constexpr (Call::scores_take_query_lanes && multiplies_rows<typename Call::parts> && !loaded_rows<keys>
                  && !loaded_rows<ValueRows> && sizeof(D) <= sizeof(float))
        return multiplies_in_matrix_unit<typename Call::number, typename Call::architecture, 0, bfloat16>
            && std::is_same_v<typename Call::query_element, bfloat16> && std::is_same_v<element_of_rows<keys>, bfloat16>
            && std::is_same_v<element_of_rows<ValueRows>, bfloat16>;
    else return false;
}();

/// The bfloat16 numbers that a weight, or the gradient of a score, is split into for it: as many as keep the precision
/// of the gradients that are asked for, of arrays with elements like those of operands.
template <class Operand, class... Asked>
inline constexpr int gradient_parts =
    std::max({1, std::is_same_v<typename Asked::element, Operand>
                     ? weight_parts<std::remove_pointer_t<decltype(Asked::target.data)>>
                     : 1 ...});

/// The blocking of a gradient with queries in lanes. Without a matrix unit arithmetic is that of numbers, whatever
/// is stored.
template <class Call, class ValueRows, class D, int Weight_parts>
using gradient_lanes = std::conditional_t<
    gradient_uses_matrix_unit<Call, ValueRows, D>,
    matrix_unit_gradient_blocking<typename Call::number, typename Call::architecture, typename Call::query_element,
                                  parts_of_operands<1, 1, 1, Weight_parts, 2, std::max(Weight_parts, 2)>>,
    query_lanes_gradient_blocking<typename Call::number, typename Call::architecture>>;

/// The plan of the scores of a gradient: queries in lanes where they fill them.
template <class Call>
call_plan make_gradient_plan(call_sizes const& n) {
    if constexpr (Call::scores_take_query_lanes)
        if (Call::query_lanes::suits(n.queries * n.group, n.features)) return make_query_lanes_plan<Call>(n);
    return make_key_lanes_plan<Call>(n);
}

/// The plan of its products dO V^T, which share tiles with the scores.
template <class Call, class Blocking>
call_plan make_value_plan(call_plan const& scores, call_sizes const& n) {
    if constexpr (Blocking::queries_in_lanes) {
        auto plan = scores;
        plan.keys = reading_in_query_lanes<decltype(Call::operands::key), Blocking>(
            n.queries * plan.tile_heads, n.features, n.keys_per_run, n.keys, n.key_alignment);
        return plan;
    } else {
        return make_key_lanes_plan<Call>(n);
    }
}

/// True for a part of a score that depends on leaves.
template <class E, class Parts, class Cotangents>
inline constexpr bool part_reaches = false;
template <std::size_t I, class Parts, class Cotangents>
inline constexpr bool part_reaches<reference<part::product, I>, Parts, Cotangents> = [] {
    using term = std::remove_cvref_t<decltype(hana::at_c<I>(std::declval<Parts>().products))>;
    return reaches<decltype(term::of_query), Cotangents> || reaches<decltype(term::of_key), Cotangents>
        || reaches<decltype(term::scale), Cotangents>;
}();
template <std::size_t I, class Parts, class Cotangents>
inline constexpr bool part_reaches<reference<part::pairwise, I>, Parts, Cotangents> =
    reaches<decltype(std::remove_cvref_t<decltype(hana::at_c<I>(std::declval<Parts>().pairs))>::body), Cotangents>;
template <std::size_t I, class Parts, class Cotangents>
inline constexpr bool part_reaches<reference<part::row_term, I>, Parts, Cotangents> =
    reaches<decltype(std::remove_cvref_t<decltype(hana::at_c<I>(std::declval<Parts>().rows))>::expression), Cotangents>;
template <std::size_t I, class Parts, class Cotangents>
inline constexpr bool part_reaches<reference<part::key_term, I>, Parts, Cotangents> =
    reaches<decltype(std::remove_cvref_t<decltype(hana::at_c<I>(std::declval<Parts>().keys))>::expression), Cotangents>;

/// The leaves of a lowered score: features, the tables that `Tables` takes, and the parts that depend on these.
template <class Parts, class Tables>
struct score_cotangents {
    template <class E>
    static constexpr bool takes = [] {
        if constexpr (is_parameter<E>) return Tables::template takes<E>;
        else return std::is_same_v<E, q_t> || std::is_same_v<E, k_t> || part_reaches<E, Parts, score_cotangents>;
    }();
};

template <class E, class Name, class Cotangents>
constexpr bool derivative_reads();
namespace detail {
template <std::size_t N, class E, class Name, class Cotangents>
constexpr bool derivative_by_child_reads() {
    using child = std::remove_cvref_t<decltype(get<N>(std::declval<E const&>()))>;
    if constexpr (!reaches<child, Cotangents>) {
        return false;
    } else {
        using derivative = std::remove_cvref_t<decltype(derivatives::by_child<N>(std::declval<E const&>()))>;
        return uses<derivative, Name> || derivative_reads<child, Name, Cotangents>();
    }
}
template <class E, class Name, class Cotangents, std::size_t... N>
constexpr bool any_derivative_reads(std::index_sequence<N...>) {
    return (derivative_by_child_reads<N, E, Name, Cotangents>() || ...);
}
}  // namespace detail

/// True where an amount that is handed on to a leaf depends on a name.
template <class E, class Name, class Cotangents>
constexpr bool derivative_reads() {
    if constexpr (!is_node<E> || is_node_of<at_operation, E> || is_node_of<operations::sum, E>
                  || !reaches<E, Cotangents>)
        return false;
    else return detail::any_derivative_reads<E, Name, Cotangents>(std::make_index_sequence<E::arity>());
}

/// True where a score is its first product and numbers that reach no leaf: its derivative is 1.
template <class E, class Cotangents>
inline constexpr bool adds_numbers = is_bare_product<E>;
template <class A, class B, class Cotangents>
inline constexpr bool adds_numbers<node<operations::plus, A, B>, Cotangents> =
    (adds_numbers<A, Cotangents> && !reaches<B, Cotangents>)
    || (adds_numbers<B, Cotangents> && !reaches<A, Cotangents>);
template <class A, class B, class Cotangents>
inline constexpr bool adds_numbers<node<operations::minus, A, B>, Cotangents> =
    adds_numbers<A, Cotangents> && !reaches<B, Cotangents>;

/// True for a product whose key is taken as it is.
template <class Product>
inline constexpr bool has_plain_key = false;
template <class Q, class Scale, class Over>
inline constexpr bool has_plain_key<product_term<Q, k_t, Scale, Over>> = true;
template <class Products>
inline constexpr index_t mapped_keys_of = 0;
template <class... Products>
inline constexpr index_t mapped_keys_of<hana::tuple<Products...>> =
    (index_t{0} + ... + index_t{!has_plain_key<Products>});

/// The work of a gradient pass for a lowered score beside its first product.
template <class Pointwise, class Parts, class Tables>
struct score_gradient_types {
    using cotangents = score_cotangents<Parts, Tables>;
    static constexpr index_t products = count_of<decltype(Parts::products)>, pairs = count_of<decltype(Parts::pairs)>,
                             row_terms = count_of<decltype(Parts::rows)>, key_terms = count_of<decltype(Parts::keys)>;
    /// The part whose values lie where the scores go.
    using first_part = reference<(products > 0) ? part::product : part::pairwise, 0>;
    /// Its values are needed after they became scores.
    static constexpr bool keeps_first = products + pairs > 0 && derivative_reads<Pointwise, first_part, cotangents>();
    /// Nothing is left to do on the score tile.
    static constexpr bool is_product = products == 1 && pairs == 0 && adds_numbers<Pointwise, cotangents>;
};

/// How an expression reads the tables of one type: at which axes, of all of them, the index is the head alone, the
/// batch alone, and the query alone; -1 where it is not.
struct table_reads {
    bool any = false;
    int head = -1, batch = -1, query = -1;
};
constexpr table_reads both(table_reads const& a, table_reads const& b) {
    if (!a.any || !b.any) return a.any ? a : b;
    return {true, a.head == b.head ? a.head : -1, a.batch == b.batch ? a.batch : -1, a.query == b.query ? a.query : -1};
}
template <class E, class Table>
inline constexpr table_reads reads_of{};
template <class T, int Rank>
inline constexpr table_reads reads_of<parameter<T, Rank>, parameter<T, Rank>>{.any = true};
template <class Operation, class... Children, class Table>
inline constexpr table_reads reads_of<node<Operation, Children...>, Table> = [] {
    table_reads all;
    ((all = both(all, reads_of<Children, Table>)), ...);
    return all;
}();
template <class T, int Rank, class... Indices>
inline constexpr table_reads reads_of<node<at_operation, parameter<T, Rank>, Indices...>, parameter<T, Rank>> = [] {
    table_reads all{.any = true};
    int axis = 0;
    ((all.head = std::is_same_v<Indices, head_t> ? axis : all.head,
      all.batch = std::is_same_v<Indices, batch_t> ? axis : all.batch,
      all.query = std::is_same_v<Indices, q_idx_t> ? axis : all.query, ++axis),
     ...);
    return all;
}();

/// Where the parts of a score stand when they are numbered together: products, pairwise terms, row terms, key terms.
template <class Parts>
struct part_places {
    static constexpr index_t products = count_of<decltype(Parts::products)>, pairs = count_of<decltype(Parts::pairs)>,
                             rows = count_of<decltype(Parts::rows)>, keys = count_of<decltype(Parts::keys)>;
    static constexpr index_t planes = products + pairs, all = planes + rows + keys;
    template <part Kind>
    static constexpr index_t first = Kind == part::product  ? 0
                                   : Kind == part::pairwise ? products
                                   : Kind == part::row_term ? planes
                                                            : planes + rows;
};

template <class E>
inline constexpr bool refers_to_a_part = false;
template <part Kind, std::size_t I>
inline constexpr bool refers_to_a_part<reference<Kind, I>> = true;

/// A score whose products have no scale: that of product I on multiplies it in the rest, as a row term where it reads
/// tables or features.
template <std::size_t I = 0, class Pointwise, class Parts>
constexpr auto with_scales_in_rest(Pointwise const& pointwise, Parts const& all) {
    if constexpr (I == static_cast<std::size_t>(count_of<decltype(Parts::products)>)) {
        auto const products = hana::transform(all.products, [](auto const& p) {
            using term = std::remove_cvref_t<decltype(p)>;
            return product_term<std::remove_cvref_t<decltype(term::of_query)>,
                                std::remove_cvref_t<decltype(term::of_key)>, unit,
                                std::remove_cvref_t<decltype(term::over)>>{p.of_query, p.of_key, {}, p.over};
        });
        using products_type = std::remove_const_t<decltype(products)>;
        using parts_type =
            parts<products_type, std::remove_cvref_t<decltype(Parts::pairs)>,
                  std::remove_cvref_t<decltype(Parts::rows)>, std::remove_cvref_t<decltype(Parts::keys)>>;
        return lowered<Pointwise, parts_type>{pointwise, {products, all.pairs, all.rows, all.keys}};
    } else {
        constexpr reference<part::product, I> product;
        auto const& scale = hana::at_c<I>(all.products).scale;
        using scale_type = std::remove_cvref_t<decltype(scale)>;
        if constexpr (std::is_same_v<scale_type, unit>) {
            return with_scales_in_rest<I + 1>(pointwise, all);
        } else if constexpr (!detail::worth_hoisting<scale_type>) {
            return with_scales_in_rest<I + 1>(
                substitute(pointwise, product, make_node<operations::times>(product, scale)), all);
        } else {
            auto const found = detail::collect<part::row_term>(all, single_term<scale_type>{scale});
            return with_scales_in_rest<I + 1>(
                substitute(pointwise, product, make_node<operations::times>(product, found.pointwise)), found.parts);
        }
    }
}

/// The lowered specification of a call with listed keys, for its gradient.
template <attention_spec A, class Prepare = as_written>
constexpr auto lower_listed_gradient(A const& a, Prepare const& prepare = {}) {
    auto const score = lower_for<true>(prepare(a.score.expression()));
    auto const predicate = prepare(a.mask.predicate());
    auto const unscaled = with_scales_in_rest(score.pointwise, score.parts);
    return lowered_spec{unscaled, predicate, normalizer_of(a.normalize), prepare(reweighting_of(a.normalize)),
                        core_of(a.aggregate)};
}

}  // namespace fovea::FOVEA_SET::plan

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
