// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of a ragged batch: the call of each sequence, and sums that all sequences add to.
#pragma once

#include <fovea/spec/call/check_gradient.hpp>
#include <fovea/spec/call/gradient_sink.hpp>
#include <fovea/spec/part/ragged.hpp>

namespace fovea::FOVEA_SET {

/// sequence_sink: what one sequence adds to the sums of the gradients of all: its rows to their places among those of
/// `all`, the rest as it is.
template <class Sums, class Bound>
class sequence_sink {
public:
    sequence_sink(Sums& sums, Bound const& all, sequence_place const& at) : sums_(sums), all_(all), at_(at) {}

    template <class T, int Rank, class Real>
    void add(view<T const, Rank> const& array, extents_t<Rank> const& at, Real amount) {
        sums_.add(array, at, amount);
    }
    template <class T, class Real>
    void add_step(step_gates<T> const& steps, extents_t<4> const& at, Real amount) {
        with_all_steps(steps, at, [&](auto const& all, auto const& place) { sums_.add_step(all, place, amount); });
    }
    template <class T, class Real>
    void add_steps(step_gates<T> const& steps, extents_t<4> const& at, index_t count, Real const* amounts) {
        with_all_steps(steps, at,
                       [&](auto const& all, auto const& place) { sums_.add_steps(all, place, count, amounts); });
    }
    template <class T, int Rank, class Real>
    void add_all(view<T const, Rank> const& array, Real const* amounts) {
        sums_.add_all(array, amounts);
    }
    /// The state is one of those that all sequences began with.
    template <class T, int Rank, class Real>
    void add_state(view<T const, Rank> const&, Real const* amounts) {
        std::apply([&](auto const&... past) { (sums_.add_one_of(past.target, at_.number, amounts), ...); },
                   all_.past());
    }
    template <operand_role Of, class Rows, class Real>
    void add_rows(Rows const& rows, Real const* amounts) {
        auto const first = Of == operand_role::query ? at_.first_query : at_.first_key;
        sums_.add_rows(of_all<Of>(), first, rows.extent(2), amounts);
    }
    template <class T, int Rank>
    bool asks(view<T const, Rank> const& array) {
        return sums_.asks(array);
    }
    template <operand_role Of, class Rows>
    bool asks_rows(Rows const&) {
        return sums_.template asks_rows<Of>(of_all<Of>());
    }
    template <std::size_t N>
    auto* of_asked() {
        return sums_.template of_asked<N>();
    }

private:
    /// Calls f(steps, at) with the table of all sequences, where it has a number for each of their positions.
    template <class T, class F>
    void with_all_steps(step_gates<T> steps, extents_t<4> at, F const& f) const {
        if (steps.table && steps.table->stride(2) != 0) {
            steps.table->data = steps.table->place(index_t{0}, index_t{0}, -at_.first_key, index_t{0});
            steps.table->extents[2] = all_.call.key.extent(2);
            at[2] += at_.first_key;
        }
        f(steps, at);
    }
    /// The rows of all sequences.
    template <operand_role Of>
    auto const& of_all() const {
        if constexpr (Of == operand_role::query) return all_.call.query;
        else if constexpr (Of == operand_role::key) return all_.call.key;
        else return all_.call.value;
    }
    Sums& sums_;
    Bound const& all_;
    sequence_place at_;
};

namespace detail {
/// The operands of one sequence of a call of gradient, with every check of their extents.
template <attention_spec A, class Call>
Call operands_of_sequence(A const& a, Call const& all, sequence_place const& at) {
    Call call = all;
    call.query = rows_of_sequence(all.query, at.first_query, at.queries);
    call.key = rows_of_sequence(all.key, at.first_key, at.keys);
    call.value = rows_of_sequence(all.value, at.first_key, at.keys);
    call.shapes = check_operands_of<typename Call::number>(a, call.query, call.key, call.value);
    return call;
}

/// Everything that can be wrong with what the gradient of a ragged batch reads.
template <class Index, attention_spec A, class Call, class D, class States>
void check_gradient_call(ragged_attention<Index, A> const& of, bound_gradient<Call, D, States>& bound) {
    auto& call = bound.call;
    auto const& d_result = bound.d_result;
    auto const& all = of.sequences;
    check_packed(of, call, d_result, gradient_of_result);
    operand_shapes shapes = call.shapes;
    for (index_t i = 0; i < all.sequences(); ++i) {
        auto const one = of_sequence(static_cast<A const&>(of), all[i]);
        auto const part = operands_of_sequence(one, call, all[i]);
        require_gradient_of_result(rows_of_sequence(d_result, all[i].first_query, all[i].queries).extents,
                                   result_shape(one, part.shapes, part.query.extents));
        std::apply([&](auto const&... state) { (check_state_of_gradient(one, part.shapes, state), ...); },
                   bound.states_of_sequence(all[i]));
        shapes = part.shapes;
    }
    call.shapes = shapes;
    call.shapes.query[2] = call.query.extent(2);
    call.shapes.key[2] = call.shapes.value[2] = call.key.extent(2);
}

/// Sums the gradients of all sequences in their order: add(specification, bound call, sums) adds those of one.
template <class Real, class Index, attention_spec A, class Bound, class Add, class... Asked>
void sum_sequences(ragged_t<Index> const& all, A const& a, Bound const& bound, Add const& add, Asked const&... asked) {
    gradient_sink<Real, Asked...> sums(asked...);
    find_arrays(a, bound, sums);
    for (index_t i = 0; i < all.sequences(); ++i) {
        auto const one = of_sequence(a, all[i]);
        Bound part = bound;
        part.call = operands_of_sequence(one, bound.call, all[i]);
        part.d_result = rows_of_sequence(bound.d_result, all[i].first_query, all[i].queries);
        if (bound.saved) part.saved = bound.saved->of_sequence(all[i]);
        part.states = bound.states_of_sequence(all[i]);
        if (bound.d_lse.data != nullptr) part.d_lse = queries_of(bound.d_lse, all[i].first_query, all[i].queries);
        sequence_sink into(sums, bound, all[i]);
        if (!part.empty()) add(one, part, into);
    }
    sums.write();
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
