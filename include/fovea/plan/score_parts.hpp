// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a lowered score, as types: how many there are of each kind, and what they mention.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/separate.hpp>
#include <fovea/plan/call_plan.hpp>
#include <fovea/plan/squares.hpp>
#include <fovea/plan/table_products.hpp>

#include <boost/hana/at.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/size.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

namespace fovea::FOVEA_SET::plan {

namespace hana = boost::hana;

/// The kinds of parts of a score.
enum class part { row_term, key_term, product, pairwise };

/// The place of a part in the pointwise rest: the engine knows its value per row, per key or per pair.
template <part Kind, std::size_t Position>
struct reference {
    using expression_tag = void;
};

using fovea::product_term;
using fovea::unit;

/// sum(body) with query and key inseparable in the body, and the same in terms of factors of one side.
template <class Body, class Factored, class Over>
struct pairwise_term {
    static constexpr bool uses_exponentials = Factored::exponentials;
    static constexpr int sign = sign_of_square<decltype(Factored::body)>;
    static constexpr bool sums_squares = sign != 0;  // sum(weight * square(a + sign * b))
    static constexpr bool reads_rows = reads_rows_of_pairs<Body>;
    /// sum(row of a table times what is of the query, or of the key)
    static constexpr bool query_times_row = reads_rows && multiplies_row_of_pair<query_side, Body>;
    static constexpr bool key_times_row = reads_rows && !query_times_row && multiplies_row_of_pair<key_side, Body>;
    Body body{};
    Factored factors{};
    Over over{};
};

/// An expression that is evaluated once per query, or once per key.
template <class E>
struct single_term {
    E expression{};
};

template <class Products, class Pairs, class Rows, class Keys>
struct parts {
    Products products{};
    Pairs pairs{};
    Rows rows{};
    Keys keys{};
};
using no_parts = parts<hana::tuple<>, hana::tuple<>, hana::tuple<>, hana::tuple<>>;

/// The pointwise rest and the parts it refers to.
template <class Pointwise, class Parts>
struct lowered {
    Pointwise pointwise{};
    Parts parts{};
};

/// The number of parts of one kind.
template <class Tuple>
inline constexpr index_t count_of = static_cast<index_t>(decltype(hana::size(std::declval<Tuple>()))::value);

/// The packed copies of the keys that the pairwise terms need: one for each factor of the key.
template <class Pairs>
inline constexpr index_t key_factors_of = hana::unpack(
    Pairs{}, [](auto const&... pair) { return (index_t{0} + ... + count_of<decltype(pair.factors.keys)>); });
template <class Pairs>
inline constexpr index_t query_factors_of = hana::unpack(
    Pairs{}, [](auto const&... pair) { return (index_t{0} + ... + count_of<decltype(pair.factors.queries)>); });

/// True where one of the terms has a value for each query head, not only for each key.
template <class Tuple>
inline constexpr bool any_uses_head = hana::unpack(Tuple{}, [](auto const&... terms) {
    return (uses<std::remove_cvref_t<decltype(terms.expression)>, head_t> || ...);
});

/// The pairwise terms that are squared distances of factors.
template <class Pairs>
inline constexpr index_t squares_of =
    hana::unpack(Pairs{}, [](auto const&... pair) { return (index_t{0} + ... + index_t{pair.sums_squares}); });

/// The pairwise terms that are products of the query, or of the key, with a row of a table.
template <class Pairs>
inline constexpr index_t query_row_products_of =
    hana::unpack(Pairs{}, [](auto const&... pair) { return (index_t{0} + ... + index_t{pair.query_times_row}); });
template <class Pairs>
inline constexpr index_t key_row_products_of =
    hana::unpack(Pairs{}, [](auto const&... pair) { return (index_t{0} + ... + index_t{pair.key_times_row}); });

/// True where one of the pairwise terms mentions a placeholder.
template <class Tuple, class Placeholder>
inline constexpr bool any_pair_uses = hana::unpack(
    Tuple{}, [](auto const&... pair) { return (uses<std::remove_cvref_t<decltype(pair.body)>, Placeholder> || ...); });

/// True where edges of one key read different rows of a table that has one for each position or edge: rows by key and
/// relation, or by the number of the edge.
template <class E>
inline constexpr bool reads_row_of_edge = false;
template <class Operation, class... Children>
inline constexpr bool reads_row_of_edge<node<Operation, Children...>> = (reads_row_of_edge<Children> || ...);
template <class Table, class... Index>
inline constexpr bool reads_row_of_edge<node<at_operation, Table, Index...>> =
    (uses<Index, edge_t, q_idx_t> || ...)
    && ((std::is_same_v<Index, edge_t> || std::is_same_v<Index, q_idx_t> || std::is_same_v<Index, kv_idx_t>) || ...);
template <class Pairs>
inline constexpr bool any_pair_reads_row_of_edge = hana::unpack(
    Pairs{}, [](auto const&... pair) { return (reads_row_of_edge<std::remove_cvref_t<decltype(pair.body)>> || ...); });

/// The features that the products and pairwise terms of a score run over.
struct summed_features {
    feature_span product;  // of the first product
    index_t most;          // of all of them, and of a row
};

/// True where all parts of one kind run over all features.
template <class Tuple>
inline constexpr bool take_all_features = true;
template <class... Parts>
inline constexpr bool take_all_features<hana::tuple<Parts...>> = (decltype(Parts::over)::takes_all && ...);

/// Those of rows with this many features.
template <class Parts>
constexpr summed_features features_of_parts(Parts const& all, index_t features, index_t key_features) {
    using products = decltype(Parts::products);
    summed_features summed{{0, features}, features > key_features ? features : key_features};
    if constexpr (count_of<products> > 0) summed.product = hana::at_c<0>(all.products).over.of(features, key_features);
    if constexpr (!take_all_features<products> || !take_all_features<decltype(Parts::pairs)>) {
        auto const look = [&](auto const& part) {
            auto const span = part.over.of(features, key_features);
            if (span.count > summed.most) summed.most = span.count;
        };
        hana::for_each(all.products, look);
        hana::for_each(all.pairs, look);
    }
    return summed;
}

/// True where a pairwise term of rows with this many features is made of a product.
template <class Pair>
constexpr bool multiplies_squares(call_plan const& plan, Pair const& pair, index_t features, index_t key_features) {
    return Pair::sums_squares && multiplies_squares(plan, pair.over.of(features, key_features).count);
}

/// True where a pairwise term is made of the product of queries, or keys, with the rows of a table: not of a table by
/// head where a tile has queries of several heads, and not where sums have a fixed order; of keys where enough queries
/// share them for packing.
template <class Pair>
constexpr bool multiplies_row(call_plan const& plan, Pair const& pair) {
    if constexpr (!Pair::query_times_row && !Pair::key_times_row) return false;
    else
        return plan.by != traversal::listed_keys && !plan.fixed_order
            && (Pair::query_times_row || plan.keys == reading::packed)
            && (plan.tile_heads == 1 || !decltype(row_product_of(pair.body))::differs_by_head);
}

/// True where one of the terms reads features of keys, not only their positions.
template <class Tuple>
inline constexpr bool any_reads_features = hana::unpack(
    Tuple{}, [](auto const&... terms) { return (uses<std::remove_cvref_t<decltype(terms.expression)>, k_t> || ...); });

/// Calls f with each part of one kind, in order.
template <class Tuple, class F>
constexpr void for_each_part(Tuple const& all, F&& f) {
    hana::for_each(all, f);
}

/// True where the matrix product is the score: nothing is left to do on the score tile.
template <class Pointwise>
inline constexpr bool is_bare_product = std::is_same_v<Pointwise, reference<part::product, 0>>;

/// True where a score is its product and what is added to it: its derivative by the product is 1.
template <class Pointwise>
inline constexpr bool adds_to_product = is_bare_product<Pointwise>;
template <class A, class B>
inline constexpr bool adds_to_product<node<operations::plus, A, B>> =
    (adds_to_product<A> && !uses<B, reference<part::product, 0>>)
    || (adds_to_product<B> && !uses<A, reference<part::product, 0>>);
template <class A, class B>
inline constexpr bool adds_to_product<node<operations::minus, A, B>> =
    adds_to_product<A> && !uses<B, reference<part::product, 0>>;

/// True where the one product of a score is of features as they are, and nothing is summed for each pair.
template <class Parts>
inline constexpr bool has_plain_product = false;
template <class Scale, class Over, class Rows, class Keys>
inline constexpr bool
    has_plain_product<parts<hana::tuple<product_term<q_t, k_t, Scale, Over>>, hana::tuple<>, Rows, Keys>> =
        !any_uses_head<Keys>;

/// True where what is computed of keys is one product with them as they are, and terms of each that are the same for
/// all heads that share it.
template <class Parts>
inline constexpr bool is_one_product = false;
template <class Q, class Scale, class Over, class Rows, class Keys>
inline constexpr bool is_one_product<parts<hana::tuple<product_term<Q, k_t, Scale, Over>>, hana::tuple<>, Rows, Keys>> =
    !any_uses_head<Keys>;

}  // namespace fovea::FOVEA_SET::plan
