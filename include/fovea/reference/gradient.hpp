// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of every specification, by their definition: the definition of attention, recorded and gone back along.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/reference/recorded_rows.hpp>
#include <fovea/reference/recurrent.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/part/ragged_gradient.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// Numbers that a recording begins with, and the amounts that they were handed.
template <class Sums>
array<recorded<Sums>> variables(array<double> const& values) {
    array<recorded<Sums>> all(values.extents);
    for (std::size_t i = 0; i < values.elements.size(); ++i)
        all.elements[i] = recorded<Sums>::variable(values.elements[i]);
    return all;
}
template <class Sums>
array<double> amounts_of(array<recorded<Sums>> const& all) {
    array<double> amounts(all.extents);
    for (std::size_t i = 0; i < all.elements.size(); ++i) amounts.elements[i] = all.elements[i].amount();
    return amounts;
}
template <class Sums>
array<double> values_of(array<recorded<Sums>> const& all) {
    array<double> values(all.extents);
    for (std::size_t i = 0; i < all.elements.size(); ++i) values.elements[i] = all.elements[i].value;
    return values;
}

/// The outputs of a recorded row that have gradients: its log-sum-exp and its weights.
template <class T, class Aggregate>
struct arriving_at_row {
    view<T const, 3> d_lse;
    Aggregate const& aggregator;

    template <class Number>
    void log_sum(row_place const& at, Number const& x) const {
        if constexpr (is_recorded<Number>)
            if (d_lse.data != nullptr) x.hand(static_cast<double>(d_lse(at.batch, at.head, at.query)));
    }
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        if constexpr (aggregator_with_arriving<Aggregate>)
            for (index_t n = 0; n < row.size(); ++n) row[n].hand(aggregator.arriving.of(at, row.key(n), row[n].value));
    }
};

/// differentiate: adds the gradients of everything that a call reads to `sums`. The finishes are recorded and gone back
/// along first, then row after row, then the projections.
template <attention_spec A, class Bound, class Sums>
void differentiate(A const& a, Bound const& bound, Sums& sums) {
    using number = recorded<Sums>;
    auto const& call = bound.call;
    auto const& shapes = call.shapes;
    recording<Sums> record(sums);
    auto const query = variables<Sums>(copy<double>(call.query)), key = variables<Sums>(copy<double>(call.key)),
               value = variables<Sums>(copy<double>(call.value));
    index_t const sources = record.size();
    auto const x = project_operands<number>(a, shapes, query.view(), key.view(), value.view());
    index_t const projected = record.size();
    operands<double> const plain_x{values_of(x.query), values_of(x.key), values_of(x.value)};

    auto const heads = std::apply(
        [&](auto const&... past) {
            if constexpr (is_recurrent<A>) return recur(a, shapes, plain_x, past.bind(shapes)...);
            else return aggregate(a, shapes, plain_x);
        },
        bound.past());
    auto const d = [&] {
        auto const before = variables<Sums>(heads);
        auto const result = finish_all(a, before, query);
        for_each_element(result.extents, [&](index_t b, index_t h, index_t n, index_t c) {
            result(b, h, n, c).hand(static_cast<double>(bound.d_result(b, h, n, c)));
        });
        record.back(projected);
        auto const amounts = amounts_of(before);
        record.forget(projected);
        return amounts;
    }();

    if constexpr (is_recurrent<A>) {
        array<double> past(state_extents(a, shapes)), d_state(past.extents);
        bound.template with_state<true>([&](auto const&, auto const& given) { past = copy<double>(given); });
        bound.template with_state<false>([&](auto const&, auto const& given) { d_state = copy<double>(given); });
        for (index_t b = 0; b < shapes.batches(); ++b)
            for (index_t h = 0; h < shapes.key_heads(); ++h) {
                auto state = empty_state<A, number>(shapes);
                auto* const of_head = past.data() + past.view().offset(b, h, 0, 0);
                auto* const d_head = d_state.data() + d_state.view().offset(b, h, 0, 0);
                for (std::size_t i = 0; i < state.elements.size(); ++i)
                    state.elements[i] = number::variable(of_head[i]);
                recur_head(a, shapes, x, b, h, state, [&](index_t of, index_t n, index_t c, number const& result) {
                    result.hand(d(b, of, n, c));
                });
                for (std::size_t i = 0; i < state.elements.size(); ++i) state.elements[i].hand(d_head[i]);
                record.back(projected);
                for (std::size_t i = 0; i < state.elements.size(); ++i)
                    d_head[i] = record.amount(projected + static_cast<index_t>(i));
                record.forget(projected);
            }
        bound.template with_state<true>(
            [&](auto const& state, auto const&) { sums.add_state(state.target, d_state.data()); });
    } else {
        auto const aggregator = core_of(a.aggregate);
        using aggregator_type = std::remove_const_t<decltype(aggregator)>;
        arriving_at_row<typename Bound::call_type::number, aggregator_type> const arriving{bound.d_lse, aggregator};
        std::vector<number> row(static_cast<std::size_t>(shapes.features()));
        for_each_row(shapes, [&](row_place const& at) {
            std::fill(row.begin(), row.end(), number(0));
            aggregate_row(
                a, shapes, x, at,
                [&](index_t, index_t, index_t, index_t c) -> number& { return row[static_cast<std::size_t>(c)]; },
                arriving);
            for (index_t c = 0; c < shapes.features(); ++c)
                row[static_cast<std::size_t>(c)].hand(d(at.batch, at.head, at.query, c));
            record.back(projected);
            record.forget(projected);
        });
    }

    record.back(sources);
    sums.template add_rows<operand_role::query>(call.query, amounts_of(query).data());
    sums.template add_rows<operand_role::key>(call.key, amounts_of(key).data());
    sums.template add_rows<operand_role::value>(call.value, amounts_of(value).data());
}

/// A call of gradient that has been bound.
template <attention_spec A, class Call, class... Asked>
void compute_gradient(A const& a, Call const& bound, Asked const&... asked) {
    gradient_sink<double, Asked...> sums(asked...);
    fovea::detail::find_arrays(a, bound, sums);
    if (!bound.empty()) differentiate(a, bound, sums);
    sums.write();
}

/// gradient: the gradients of the arrays that a call reads, from the gradient of its result, by their definition.
///
///     reference::gradient(spec, query, key, value, d_result, grad(query, d_query), grad(slopes, d_slopes))
///     reference::gradient(spec, x, d_result, grad(x, d_x))                      self-attention
///     reference::gradient(spec, queries(x), memory(m), d_result, grad(m, d_m))  cross attention
///
/// Operands as those of attend; after the gradient of the result stands what is asked for, see grad. Every number is a
/// double; gradients are rounded to the type of their target at the end. A pair that takes no part, and a query that
/// sees no key, give nothing, whatever they hold.
/// Errors: those of attend and of grad, before anything is written. At compile time, for a normalizer or a map of heads
/// without a rule, and an aggregator other than weighted_sum and running_state.
template <attention_spec A, class... Arguments>
void gradient(A const& a, Arguments&&... arguments) {
    fovea::detail::with_gradient_call(
        [&](auto const& of, auto const& bound, auto const&... asked) { compute_gradient(of, bound, asked...); }, a,
        std::forward<Arguments>(arguments)...);
}
/// The same of a ragged batch: the sums of the gradients of its sequences.
template <class Index, attention_spec A, class Bound, class... Asked>
void compute_gradient(ragged_t<Index> const& all, A const& a, Bound const& bound, Asked const&... asked) {
    fovea::detail::sum_sequences<double>(
        all, a, bound, [](auto const& one, auto const& part, auto& sums) { differentiate(one, part, sums); }, asked...);
}
template <class Index, attention_spec A, class... Arguments>
void gradient(ragged_t<Index> const& all, A const& a, Arguments&&... arguments) {
    fovea::detail::with_gradient_call(
        [&](auto const&, auto const& bound, auto const&... asked) { compute_gradient(all, a, bound, asked...); },
        fovea::detail::ragged_attention<Index, A>{a, all}, std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
    requires fovea::detail::misordered_call<Arguments...>
void gradient(Arguments&&...) {
    fovea::detail::refuse_order<Arguments...>();
}

template <class First, class... Rest>
    requires(fovea::detail::place_of<std::remove_cvref_t<First>> == fovea::detail::place_in_call::before
             && !fovea::detail::is_ragged<std::remove_cvref_t<First>> && fovea::detail::begins_well<First, Rest...>())
void gradient(First&&, Rest&&...) {
    static_assert(never<First>, "fovea: this gradient takes no executor and no workspace");
}

/// Mistakes that have been reported are not reported again.
template <class... Arguments>
void gradient(ill_formed, Arguments const&...) {}

}  // namespace fovea::FOVEA_SET::reference

#include <fovea/core/epilogue.hpp>
