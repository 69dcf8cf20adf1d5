// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Further results that a call may ask for; what is not asked for is not computed.
#pragma once

#include <fovea/core/as_view.hpp>
#include <fovea/core/config.hpp>
#include <fovea/core/graph.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/row.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// The row of pairs that the loops have just come to the end of.
struct row_place {
    index_t batch;
    index_t head;
    index_t query;
};

/// An output: bind(shapes) checks its target against the extents of a call and gives what the loops fill.
///
/// A bound output has the target, a view of as many axes as there can be, and those of these that it needs:
///     begin()                  once, before the loops
///     log_sum(place, x)        the log-sum-exp of a row
///     row_state(place, m, l)   the maximum of a row of softmax and the sum of exp(s - m), which has a view `sums`
///     complete()               once, after the loops, when `results` has the result before any finish
///     scores(place, row)       the scores of a row as they enter the normalizer
///     weights(place, row)      its weights as they leave it
///     reduces_over_queries        true where rows of one head write to the same elements
/// or, for scores that no mask has touched, which take a pass of their own:
///     score_of(attention)      the score that is asked for
///     scores_of_run(place, first_key, scores, count)    those of a row and some adjacent keys
template <class O>
concept extra_output = requires {
    typename O::output_tag;
    { O::name } -> std::convertible_to<std::string_view>;
};

template <class B>
concept takes_log_sum = requires(B const& b) { b.log_sum(row_place{}, 0.0); };
template <class B>
concept takes_row_state = requires(B const& b) { b.row_state(row_place{}, 0.0, 0.0); };
template <class B>
concept takes_scores = requires(B const& b, row_archetype<double> row) { b.scores(row_place{}, row); };
template <class B>
concept takes_weights = requires(B const& b, row_archetype<double> row) { b.weights(row_place{}, row); };
template <class B>
concept takes_rows = takes_scores<B> || takes_weights<B>;
template <class B>
concept reduces_over_queries = requires { requires B::reduces_over_queries; };
template <class B, class A>
concept takes_all_scores = requires(B const& b, A const& a, double const* scores) {
    b.score_of(a);
    b.scores_of_run(row_place{}, index_t{0}, scores, index_t{0});
};

namespace detail {
/// Adjacent queries of what has numbers for each: (batch, head, query, ...).
template <class T, int Rank>
view<T, Rank> queries_of(view<T, Rank> all, index_t first, index_t count) {
    all.data += first * all.stride(2);
    all.extents[2] = count;
    return all;
}
}  // namespace detail

/// A bound output for `count` of the queries of its call from one on. What adds over queries is that of all of them.
template <class Bound>
Bound output_of_queries(Bound output, index_t first, index_t count) {
    if constexpr (!reduces_over_queries<Bound>) output.target = detail::queries_of(output.target, first, count);
    if constexpr (takes_row_state<Bound>) output.sums = detail::queries_of(output.sums, first, count);
    return output;
}

/// A computed number in the type of a target.
template <class T, class Real>
constexpr T rounded_to(Real x) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(x);
    else return static_cast<T>(static_cast<float>(x));
}

template <class T>
struct bound_lse {
    view<T, 3> target;
    void log_sum(row_place const& at, auto x) const { target(at.batch, at.head, at.query) = rounded_to<T>(x); }
};

template <class T>
struct bound_weights {
    view<T, 4> target;

    /// A key that is listed twice has the sum of its weights.
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        index_t const keys = target.extent(3);
        T* const to = target.place(at.batch, at.head, at.query, index_t{0});
        for (index_t j = 0; j < keys; ++j) to[j] = T(0);
        for (index_t i = 0; i < row.size(); ++i)
            if (index_t const j = row.key(i); j < keys && row[i] != 0) to[j] = rounded_to<T>(to[j] + row[i]);
    }
};

/// Where the log-sum-exp of each row goes: (batch, head, query); batch and head may be left out where they are one.
template <class T, int Rank>
struct lse_output {
    using output_tag = void;
    static constexpr std::string_view name = "lse";
    view<T, Rank> target;
    FOVEA_INLINE bound_lse<T> bind(operand_shapes const& shapes) const {
        return {rows_of_call("lse is", target, shapes)};
    }

    /// The output of one sequence of a ragged batch.
    ///
    /// Errors: shape_error where there is not one number for each query of all sequences.
    lse_output of_sequence(auto const& at) const {
        if (target.extent(Rank - 1) != at.all_queries)
            raise_error(shape_error("lse is ", target.extents, ", the sequences have ",
                                    detail::counted(at.all_queries, "query"), " together"));
        auto rows = target;
        rows.data += at.first_query;
        rows.extents[Rank - 1] = at.queries;
        return {rows};
    }
};

/// The weights of pairs that are listed: (batch, head, query, key), or (batch, head, 1, edge) by the numbers of edges.
template <class T>
struct bound_listed_weights {
    view<T, 4> target;
    graph_view list;
    bool by_edge = false;

    /// Of the keys of a query, those that take part are a row, in the order of the list.
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        if (!by_edge) return bound_weights<T>{target}.weights(at, row);
        T* const to = target.place(at.batch, at.head, index_t{0}, index_t{0});
        index_t edge = list.offsets[static_cast<std::size_t>(at.query)], i = 0;
        for (auto const key : list.of(at.query)) {
            bool const takes_part = i < row.size() && row.key(i) == key;
            to[list.number(edge++)] = takes_part ? rounded_to<T>(row[i++]) : T(0);
        }
    }
};

template <class T, int Rank>
struct listed_weights_output {
    using output_tag = void;
    static constexpr std::string_view name = "weights";
    view<T, Rank> target;
    graph_view list;

    /// Errors: shape_error where the target has neither a number for each pair nor one for each edge.
    bound_listed_weights<T> bind(operand_shapes const& shapes) const {
        extents_t<4> const pairs{shapes.batches(), shapes.heads(), shapes.queries(), shapes.keys()};
        if constexpr (Rank >= 2 && Rank <= 4)
            if (auto const all = detail::as_numbers_of_pairs(target, shapes.heads()); all.extents == pairs)
                return {all, list};
        extents_t<3> const edges{shapes.batches(), shapes.heads(), list.edges()};
        if constexpr (Rank <= 3)
            if (auto const all = detail::as_numbers_of_rows(target, shapes.heads()); all.extents == edges)
                return {
                    {all.data, {edges[0], edges[1], 1, edges[2]}, {all.stride(0), all.stride(1), 0, 1}}, list, true};
        raise_error(shape_error("weights are ", target.extents, " and must be ", pairs,
                                ", (batch, head, query, key), or ", edges, ", (batch, head, edge)"));
    }
};

/// Where the weights go: (batch, head, query, key); batch and head may be left out where they are one.
template <class T, int Rank>
struct weights_output {
    using output_tag = void;
    static constexpr std::string_view name = "weights";
    view<T, Rank> target;
    bound_weights<T> bind(operand_shapes const& shapes) const { return {pairs_of_call("weights are", target, shapes)}; }
    /// Those of a call whose keys are listed.
    constexpr auto of_list(graph_view const& list) const { return listed_weights_output<T, Rank>{target, list}; }
};

namespace detail {
/// The view of what an output is written to, with the sentences for what cannot be; numbers unless it holds integers.
template <bool Integers = false, class Target>
FOVEA_INLINE constexpr auto target_of(Target&& target) {
    static_assert(!is_temporary_owner<Target>,
                  "fovea: an additional output is a temporary, destroyed at the end of the statement: give it a name");
    auto const v = view_of(target);
    if constexpr (!Integers)
        static_cast<void>(has_features_of_numbers<typename std::remove_const_t<decltype(v)>::value_type>());
    return v;
}
template <template <class, int> class Output, class Target>
FOVEA_INLINE constexpr auto output_to(Target&& target) {
    auto const v = target_of(std::forward<Target>(target));
    return Output<std::remove_pointer_t<decltype(v.data)>, decltype(v)::rank>{v};
}
}  // namespace detail

/// lse: asks for the log-sum-exp of the scores of each query.
///
///     lse_i = log sum_j exp(s_ij)        -inf for a query that sees no key
///
/// The target is (batch, head, query); batch or head may be left out where it is one. For softmax and its relatives,
/// and for normalizers of one's own that have log_sum(state). Cost: a logarithm for each query.
/// Errors: shape_error where the target does not fit the call, before anything is written.
template <class Target>
FOVEA_INLINE constexpr auto lse(Target&& target) {
    return detail::output_to<lse_output>(std::forward<Target>(target));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed lse(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

/// weights: asks for the weights of each query over all keys, as the aggregator uses them.
///
/// The target is (batch, head, query, key); batch or head may be left out where it is one. Exactly 0 where a pair does
/// not take part; a key that is listed twice has the sum of its weights. Where keys are listed it may be (batch, head,
/// edge) instead, by the numbers of the edges, each with a weight of its own. Cost: the loop keeps the scores of a few
/// queries over all keys, and writes as many numbers as there are pairs.
/// Errors: shape_error where the target does not fit the call, before anything is written.
template <class Target>
FOVEA_INLINE constexpr auto weights(Target&& target) {
    return detail::output_to<weights_output>(std::forward<Target>(target));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed weights(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET
