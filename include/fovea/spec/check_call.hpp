// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one door of every call: all that can be wrong with a specification and its arguments, before anything is written.
#pragma once

#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <string>

namespace fovea {

/// The extents of a call: its operands as the score sees them, and its result.
struct call_shapes {
    operand_shapes operands;
    extents_t<4> result{};
};

/// A normalizer that can say what stands for the log-sum-exp of a row.
template <class N>
concept log_sum_normalizer = requires(N const& n, typename N::template state<double> s) {
    { n.log_sum(s) } -> std::convertible_to<double>;
};

namespace detail {
/// The sentences for a specification that lacks a part.
template <class Project, class Score, class Mask, class Normalize, class Aggregate>
constexpr bool is_complete(attention<Project, Score, Mask, Normalize, Aggregate> const*) {
    constexpr bool has_score = !is_empty_slot<Score>;
    constexpr bool has_normalizer = !is_empty_slot<Normalize>;
    constexpr bool has_aggregator = !is_empty_slot<Aggregate>;
    static_assert(has_score, "fovea: this attention has no score function: begin it with one, such as scaled_dot");
    static_assert(
        has_normalizer,
        "fovea: this attention has no normalizer: write `| softmax`, or `| unnormalized` if the scores are the "
        "weights");
    static_assert(has_aggregator, "fovea: this attention has no aggregator: write `| weighted_sum` at its end");
    return has_score && has_normalizer && has_aggregator;
}

template <class T, int Rank>
void require_distinct_elements(view<T, Rank> const& written, char const* name) {
    for (int axis = 0; axis < Rank; ++axis)
        if (written.size() > 0 && written.extent(axis) > 1 && written.stride(axis) == 0)
            throw shape_error(std::string(name) + " has stride 0 along axis " + std::to_string(axis)
                              + ": its elements would be written twice");
}

/// What may not overlap a view that is written: the operands, and what is written beside it.
template <class Written, int Rank, class... Read>
void require_apart_from_operands(view<Written, Rank> const& written, char const* name,
                                 view<Read, 4> const&... operands) {
    char const* names[] = {"query", "key", "value"};
    int i = 0;
    (require_apart(written, name, operands, names[i++]), ...);
}

template <class A, class T, int Rank>
view<T, 3> checked_target(A const& a, lse_output<T, Rank> const& asked, operand_shapes const& operands) {
    static_assert(log_sum_normalizer<std::remove_cvref_t<decltype(a.normalize)>>,
                  "fovea: lse was asked for, but this normalizer has no log_sum(state)");
    return lse_rows(asked.target, operands);
}
template <class A, class T, int Rank>
view<T, 4> checked_target(A const&, weights_output<T, Rank> const& asked, operand_shapes const& operands) {
    return weights_pairs(asked.target, operands);
}

template <class T, int Rank>
constexpr char const* name_of_output(lse_output<T, Rank> const&) {
    return "lse";
}
template <class T, int Rank>
constexpr char const* name_of_output(weights_output<T, Rank> const&) {
    return "weights";
}
}  // namespace detail

/// check_call: the extents of a call on (batch, head, position, feature) views of the sources and the result.
///
/// Errors: shape_error naming the argument, what it has and what was needed; graph_error for a mask that lists keys.
template <attention_spec A, class Q, class K, class V, class Out, extra_output... Extra>
call_shapes check_call(A const& a, view<Q, 4> const& query, view<K, 4> const& key, view<V, 4> const& value,
                       view<Out, 4> const& result, Extra const&... extra) {
    static_assert(!std::is_const_v<Out>, "fovea: the result is a view of const elements and cannot be written");
    call_shapes shapes;
    if constexpr (detail::is_complete(static_cast<A const*>(nullptr))) {
        auto& operands = shapes.operands;
        operands = projected_shapes(a, query.extents, key.extents, value.extents);
        check_summed_tables(a.score.expression(), operands.query[3], operands.key[3]);
        if constexpr (enumerating_mask<decltype(a.mask)>)
            a.mask.neighbor_list().check(operands.queries(), operands.keys());

        shapes.result = result_shape(a, operands, query.extents);
        if (result.extents != shapes.result)
            throw shape_error("result is " + to_text(result.extents)
                              + ", (batch, head, position, feature) of the call is " + to_text(shapes.result));
        detail::require_distinct_elements(result, "result");
        detail::require_apart_from_operands(result, "result", query, key, value);

        auto const check = [&](auto const& asked) {
            auto const target = detail::checked_target(a, asked, operands);
            auto const name = detail::name_of_output(asked);
            detail::require_distinct_elements(target, name);
            detail::require_apart_from_operands(target, name, query, key, value);
            detail::require_apart(target, name, result, "result");
        };
        (check(extra), ...);
    }
    return shapes;
}

}  // namespace fovea
