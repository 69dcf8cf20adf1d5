// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The concepts of the parts of an attention. The engine reads these and never a word.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/core/index.hpp>
#include <fovea/core/view.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/node.hpp>
#include <fovea/spec/row.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// Where a row of features stands, once the rows are cut into heads.
struct head_place {
    index_t batch = 0;
    index_t head = 0;
    index_t position = 0;
};

/// feature_row: the features of one head at one position, as maps of them see it.
///
///     row.sum(f)                      the sum of f(x) over the features
///     row.map(f)                      each feature x becomes f(x)
///     row.map(f, table)               each feature x becomes f(x, t), t the element of a table at that feature
///     row.map_halves(n, f, a, b)      the features i and n + i become f(x, y, a_i, b_i), a pair of values
///     row.map_neighbors(n, f, a, b)   the same for the features 2 i and 2 i + 1
///     row.size(), row[i]              single features
///
/// f is generic: it takes numbers or batches of them.
template <class R>
concept feature_row = requires(R row, index_t i, typename R::value_type const* table) {
    { row.size() } -> std::convertible_to<index_t>;
    {
        row.sum([](auto x) { return x; })
    } -> std::convertible_to<typename R::value_type>;
    row[i];
    row.map([](auto x) { return x; });
    row.map([](auto x, auto) { return x; }, table);
    row.map_halves(i, [](auto x, auto y, auto, auto) { return std::pair(x, y); }, table, table);
    row.map_neighbors(i, [](auto x, auto y, auto, auto) { return std::pair(x, y); }, table, table);
};

/// feature_row_archetype: the least that a feature_row offers; concepts are checked against it.
template <class T>
struct feature_row_archetype {
    using value_type = T;
    T* features = nullptr;
    index_t size() const { return 0; }
    T& operator[](index_t i) const { return features[i]; }
    T sum(auto f) const { return static_cast<T>(f(T{})); }
    void map(auto f) const { static_cast<void>(f(T{})); }
    void map(auto f, auto const*) const { static_cast<void>(f(T{}, T{})); }
    void map_halves(index_t, auto f, T const*, T const*) const { static_cast<void>(f(T{}, T{}, T{}, T{})); }
    void map_neighbors(index_t, auto f, T const*, T const*) const { static_cast<void>(f(T{}, T{}, T{}, T{})); }
};

/// The parts of an attention, in the order in which data flows through them and in which they are written.
enum class role { projection, score, rescoring, mask, selection, normalizer, reweighting, aggregator, finish };

constexpr std::string_view name_of(role r) {
    constexpr std::string_view names[] = {"projection", "score function", "rescoring",  "mask",  "selection",
                                          "normalizer", "reweighting",    "aggregator", "finish"};
    return names[static_cast<int>(r)];
}

/// stage: the empty base of every word; it says which part of an attention the word is.
template <role Role>
struct stage {
    static constexpr role stage_role = Role;

    /// Words without arguments are values: softmax, not softmax().
    template <class... Numbers>
        requires(std::is_arithmetic_v<Numbers> && ...)
    constexpr ill_formed operator()(Numbers...) const {
        static_assert(never<Numbers...>, "fovea: this word takes no arguments: write it without parentheses");
        return {};
    }
};

template <class S>
concept attention_stage = requires {
    { S::stage_role } -> std::convertible_to<role>;
};

template <class S, role Role>
concept stage_of = attention_stage<S> && (S::stage_role == Role);

/// A word as the user writes it: its text() where it has run-time parts, its name otherwise.
template <attention_stage S>
std::string describe(S const& s) {
    if constexpr (requires { s.text(); }) return s.text();
    else return std::string(S::name);
}

/// A score function: how a query and a key are compared, as an expression.
template <class S>
concept score_function = stage_of<S, role::score> && requires(S const& s) {
    { s.expression() } -> expression;
};

/// A rescoring: a new score as an expression of the old one.
template <class S>
concept rescoring = stage_of<S, role::rescoring> && requires(S const& s) {
    { s.expression() } -> expression;
};

/// A reweighting: a new weight as an expression of the one that the normalizer gave.
template <class S>
concept reweighting = stage_of<S, role::reweighting> && requires(S const& s) {
    { s.expression() } -> expression;
};

/// A mask: which keys a query sees, as a condition over indices.
template <class M>
concept mask = stage_of<M, role::mask> && requires(M const& m) {
    { m.predicate() } -> expression;
};

/// A mask that lists the keys of each query instead of testing all of them.
template <class M>
concept enumerating_mask = mask<M> && requires(M const& m) { m.neighbor_list(); };

/// A normalizer whose weights depend on one score alone: weight(score), generic in the value.
template <class N>
concept elementwise_normalizer = stage_of<N, role::normalizer> && requires(N const& n) {
    { n.weight(0.0) } -> std::convertible_to<double>;
};

/// A normalizer that reads a row piece by piece, in any pieces:
///     fold(state, row)      scores become weights; returns the factor for what was accumulated before
///     merge(state, other)   joins two pieces; returns the factors of both
///     finish(state)         the last factor; 0 for a row without keys
///     log_sum(state)        the log-sum-exp, or what stands for it
template <class N>
concept streaming_normalizer = stage_of<N, role::normalizer>
                            && requires(N const& n, typename N::template state<double> s, row_archetype<double> row) {
                                   { n.fold(s, row) } -> std::convertible_to<double>;
                                   { n.merge(s, s).first } -> std::convertible_to<double>;
                                   { n.finish(s) } -> std::convertible_to<double>;
                               };

/// A streaming normalizer that gives all the weight to one key, selected(state); -1 for a row without keys.
template <class N>
concept one_hot_normalizer = stage_of<N, role::normalizer>
                          && requires(N const& n, typename N::template state<double> s, row_archetype<double> row) {
                                 n.fold(s, row);
                                 n.merge(s, s);
                                 { n.selected(s) } -> std::convertible_to<index_t>;
                             };

/// A normalizer that needs all scores of a row at once: normalize(row), in place.
template <class N>
concept whole_row_normalizer =
    stage_of<N, role::normalizer> && requires(N const& n, row_archetype<double> row) { n.normalize(row); };

template <class N>
concept plain_normalizer =
    elementwise_normalizer<N> || streaming_normalizer<N> || one_hot_normalizer<N> || whole_row_normalizer<N>;

/// A stand-in for a row where a normalizer asks for coordinates of it: at(expression) is the value of an expression of
/// batch, head, q_idx and the lengths.
template <class T>
struct row_coordinates_archetype {
    T operator()(auto const&) const { return T{1}; }
};

/// A normalizer that differs from row to row: for_row(at) is the plain normalizer of one row.
template <class N>
concept row_dependent_normalizer =
    stage_of<N, role::normalizer> && requires(N const& n, row_coordinates_archetype<double> at) {
        { n.for_row(at) } -> plain_normalizer;
    };

template <class N>
concept normalizer = plain_normalizer<N> || row_dependent_normalizer<N>;

/// The plain normalizer of one row; for most normalizers, itself.
template <normalizer N, class Facts>
FOVEA_INLINE constexpr decltype(auto) normalizer_of_row(N const& n, Facts const& at) {
    if constexpr (row_dependent_normalizer<N>) return n.for_row(at);
    else return (n);
}

template <normalizer N, class T = double>
using row_normalizer =
    std::remove_cvref_t<decltype(normalizer_of_row(std::declval<N const&>(), row_coordinates_archetype<T>{}))>;

/// An aggregator: how weights and values are combined, one key after the other: step(sum so far, weight, value).
///
/// `linear` says that step is sum + weight * value: the loops compute matrix products and do not call it. Otherwise
/// step sees only pairs that take part, the sum begins with `start`, or 0, and a row where no pair takes part gives 0.
/// A positive factor on all weights must be one on the result.
template <class A>
concept aggregator = stage_of<A, role::aggregator> && requires(A const& a) {
    { a.step(0.0, 0.0, 0.0) } -> std::convertible_to<double>;
};

template <class A>
concept linear_aggregator = aggregator<A> && requires { requires A::linear; };

/// A linear aggregator that adds a row of a table to the value of each pair: added(), the read of a table with an axis
/// left for the features, at indices that are those of the pair.
template <class A>
concept value_adding_aggregator = linear_aggregator<A> && requires(A const& a) {
    { a.added() } -> expression;
};

/// The start of an aggregator's sums.
template <aggregator A, class T>
inline constexpr T start_of = [] {
    if constexpr (requires { A::start; }) return static_cast<T>(A::start);
    else return T{0};
}();

/// The result of a row: its sums times the last factor of its weights.
template <aggregator A, class T>
constexpr T aggregated(T sum, T factor) {
    if constexpr (linear_aggregator<A>) return sum * factor;
    else return sum == start_of<A, T> ? T{0} : sum * factor;
}

/// A map of one row of features to another: as_is, a linear map, and what is composed of them.
template <class M>
concept row_map = requires(M const& m) {
    typename M::row_map_tag;
    { m.features(index_t{}) } -> std::convertible_to<index_t>;
    m.text();
};

/// A row map that is a matrix product: matrix, bias, is_transposed.
template <class M>
concept linear_map = row_map<M> && requires(M const& m) {
    m.matrix(0, 0);
    (*m.bias)(0);
    { M::is_transposed } -> std::convertible_to<bool>;
};

/// A map of the features of one head at one position, in place: apply(row, place), row a feature_row.
///
/// Where part of it is the same for all heads of a position, it says how many numbers that takes, prepared(features),
/// fills them, prepare(numbers, features, place), and finds them again as a third argument of apply.
/// check(extents, argument), where there is one, throws shape_error for rows that do not fit. How gradients go through
/// it is said by each: `linear` where it is a sum of multiples, gradient(row, d, place), with the numbers as a fourth
/// argument, where it is not, and `linear` = false where there is no gradient. One that reads tables which can be
/// trained has tables(), a tuple of views, empty ones of those that are not given; the last argument of its gradient is
/// a tuple of as many views to which it adds their gradients, without memory where nobody asks.
template <class M>
concept prepared_head_map = requires(M const& m, feature_row_archetype<double> row, head_place at, double* numbers) {
    typename M::head_map_tag;
    { m.prepared(index_t{}) } -> std::convertible_to<index_t>;
    m.prepare(numbers, index_t{}, at);
    m.apply(row, at, numbers);
    m.text();
};
template <class M>
concept head_map = prepared_head_map<M> || requires(M const& m, feature_row_archetype<double> row, head_place at) {
    typename M::head_map_tag;
    m.apply(row, at);
    m.text();
};

template <class M>
concept head_map_with_tables = head_map<M> && requires(M const& m) { m.tables(); };

namespace detail {
template <class Number, class Tables>
struct sums_of_tables {
    using type = std::tuple<>;
};
template <class Number, class... T, int... Rank>
struct sums_of_tables<Number, std::tuple<view<T const, Rank>...>> {
    using type = std::tuple<view<Number, Rank>...>;
};
template <class M>
struct tables_of {
    using type = std::tuple<>;
};
template <head_map_with_tables M>
struct tables_of<M> {
    using type = decltype(std::declval<M const&>().tables());
};
}  // namespace detail

/// The sums that a map of heads adds the gradients of its tables to.
template <head_map M, class Number>
using head_map_sums = typename detail::sums_of_tables<Number, typename detail::tables_of<M>::type>::type;

/// Calls f with the last arguments of a gradient: the numbers that the map has prepared, the sums of its tables.
template <head_map M, class Number, class F>
FOVEA_INLINE constexpr void with_rule_arguments(Number const* numbers, head_map_sums<M, Number> const& sums,
                                                F const& f) {
    if constexpr (prepared_head_map<M> && head_map_with_tables<M>) f(numbers, sums);
    else if constexpr (prepared_head_map<M>) f(numbers);
    else if constexpr (head_map_with_tables<M>) f(sums);
    else f();
}

/// A map of heads that has a rule for gradients: d, the gradient of the row after it, becomes that of the row before.
template <class M>
concept head_map_with_rule =
    head_map<M>
    && requires(M const& m, feature_row_archetype<double> row, head_place at, double const* numbers,
                head_map_sums<M, double> const& sums) {
           requires(prepared_head_map<M> && head_map_with_tables<M> && requires {
                       m.gradient(row, row, at, numbers, sums);
                   }) || (prepared_head_map<M> && !head_map_with_tables<M> && requires {
                       m.gradient(row, row, at, numbers);
                   }) || (!prepared_head_map<M> && head_map_with_tables<M> && requires {
                       m.gradient(row, row, at, sums);
                   }) || (!prepared_head_map<M> && !head_map_with_tables<M> && requires { m.gradient(row, row, at); });
       };
template <class M>
concept linear_head_map = head_map<M> && requires { requires M::linear; };
/// A map of heads that says how gradients go through it, or that they do not.
template <class M>
concept head_map_of_known_gradient = head_map_with_rule<M> || requires {
    { M::linear } -> std::convertible_to<bool>;
};

/// A projection: a row map for queries, keys and values, and the number of heads.
template <class P>
concept projection = stage_of<P, role::projection> && requires(P const& p) {
    requires row_map<std::remove_cvref_t<decltype(p.query)>>;
    requires row_map<std::remove_cvref_t<decltype(p.key)>>;
    requires row_map<std::remove_cvref_t<decltype(p.value)>>;
    P::heads_type::group;
};

/// A finish: what is done with the heads and features of the result.
template <class F>
concept finish = stage_of<F, role::finish>;

}  // namespace fovea::FOVEA_SET
