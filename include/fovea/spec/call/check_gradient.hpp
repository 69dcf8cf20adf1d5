// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of a call of gradient in their one form, with every check.
#pragma once

#include <fovea/core/view.hpp>
#include <fovea/spec/call/arguments.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/call/check_call.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/call/grad.hpp>
#include <fovea/spec/call/saved_rows.hpp>

#include <array>
#include <optional>
#include <tuple>

namespace fovea::FOVEA_SET {

namespace detail {
/// An argument of a kind, as a tuple; an empty one of any other.
template <class Argument>
auto states_among(Argument const& argument) {
    if constexpr (state_of_gradient<Argument>) return std::tuple(argument);
    else return std::tuple();
}
template <state_of_gradient State>
auto past_among(State const& state) {
    if constexpr (State::is_past) return std::tuple(state);
    else return std::tuple();
}

inline constexpr char const* gradient_of_result = "the gradient of the result";

/// Errors: shape_error where it has other extents than the result.
inline void require_gradient_of_result(extents_t<4> const& given, extents_t<4> const& expected) {
    if (given != expected)
        raise_error(shape_error(gradient_of_result, " is ", given, " and must be ", expected,
                                ", (batch, head, position, feature)"));
}

/// A specification that runs in each sequence of a ragged batch.
template <class Of>
concept packs_sequences = requires(Of const& of) { of.sequences; };

/// The target of grad in place n of a call, which sentences count where it has no name.
template <asked_gradient Asked>
memory_region region_of_target(Asked const& asked, std::size_t n) {
    constexpr std::array places{" 1", " 2", " 3", " 4", " 5", " 6", " 7", " 8", " 9", " 10", " 11", " 12"};
    if (!asked.wanted) {
        memory_region none{};  // of no elements
        none.rank = 1;
        return none;
    }
    if (asked.target_name != nullptr) return region_of(asked.target, asked.target_name);
    return region_of(asked.target, "the target of grad", n < places.size() ? places[n] : "");
}

/// Errors: shape_error where a target does not fit its array, or shares elements with anything that the call uses;
/// arriving(visit) calls visit with the regions of gradients that arrive at weights.
template <attention_spec A, class Bound, class Arriving, asked_gradient... Asked>
void check_targets(A const& a, Bound const& bound, Arriving const& arriving, Asked const&... asked) {
    std::array<memory_region, sizeof...(Asked)> targets{};
    std::size_t count = 0;
    auto const check = [&](auto const& each) {
        auto& target = targets[count];
        target = region_of_target(each, count++);
        if (each.wanted && each.target.extents != each.of.extents)
            raise_error(shape_error(target.name, target.owner, " is ", each.target.extents, ", its array is ",
                                    each.of.extents));
        require_sound(target);
    };
    (check(asked), ...);
    check_written(targets, [&](auto const& visit) {
        for_each_array_read(a, bound.call.query, bound.call.key, bound.call.value, visit);
        visit(region_of(bound.d_result, gradient_of_result));
        bound.for_each_state([&](auto const& state) { visit(region_of(state.target, state.name.data())); });
        if (bound.d_lse.data != nullptr) visit(region_of(bound.d_lse, "d_lse"));
        arriving(visit);
        if constexpr (packs_sequences<A>) a.sequences.memory(visit);
    });
}
}  // namespace detail

/// The operands of a call of gradient, bound and checked, the gradient of the result, the rows of the forward call
/// where they were saved, and the state that it began with and the gradient of the one that it left, where they are
/// given.
template <class Call, class D, class States = std::tuple<>>
struct bound_gradient {
    using call_type = Call;
    using saved_type = saved_rows<typename Call::number>;
    static constexpr bool has_states = std::tuple_size_v<States> > 0;
    Call call;
    view<D, 4> d_result;
    std::optional<row_state_views<typename Call::number const>> saved = {};
    States states{};
    view<typename Call::number const, 3> d_lse{};  // (batch, head, query), if it is given

    /// Where there is nothing to go back from.
    bool empty() const { return d_result.empty() && !has_states && d_lse.empty(); }

    template <class F>
    void for_each_state(F const& f) const {
        std::apply([&](auto const&... state) { (f(state), ...); }, states);
    }
    /// The past state as attend takes it, where it is given.
    auto past() const {
        return std::apply([](auto const&... state) { return std::tuple_cat(detail::past_among(state)...); }, states);
    }
    /// f(state, elements) for the past state, or for the gradient of the present one: (batch, key head, feature of the
    /// key, feature of the value).
    template <bool Past, class F>
    void with_state(F const& f) const {
        for_each_state([&](auto const& state) {
            if constexpr (std::remove_cvref_t<decltype(state)>::is_past == Past)
                f(state, state_of_call(state.target, call.shapes));
        });
    }

    /// The states of one sequence of a ragged batch.
    States states_of_sequence(sequence_place const& at) const {
        return std::apply([&](auto const&... state) { return States(state.of_sequence(at)...); }, states);
    }

    /// Errors: shape_error where the saved rows are those of a call of other shapes.
    template <class Saved>
    void take(Saved const& rows) {
        if (!rows.complete()) return;
        auto const& n = call.shapes;
        extents_t<4> const needed{n.batches(), n.heads(), n.queries(), n.features()};
        if (rows.result().extents != needed)
            raise_error(shape_error("the saved rows are those of a result ", rows.result().extents, ", this call has ",
                                    needed));
        saved = rows.rows();
    }
};

namespace detail {
template <attention_spec A, class State>
void check_state_of_gradient(A const& a, operand_shapes const& shapes, State const& state) {
    require_sound(region_of(state.target, state.name.data()));
    check_state(a, shapes, state_of_call(state.target, shapes).extents, state.name);
}
}  // namespace detail

/// Everything that can be wrong with what a call of gradient reads.
template <attention_spec A, class Call, class D, class States>
void check_gradient_call(A const& a, bound_gradient<Call, D, States>& bound) {
    auto& call = bound.call;
    auto const& d_result = bound.d_result;
    detail::check_memory_read(a, call);
    call.shapes = check_operands_of<typename Call::number>(a, call.query, call.key, call.value);
    detail::require_sound(detail::region_of(d_result, detail::gradient_of_result));
    detail::require_gradient_of_result(d_result.extents, result_shape(a, call.shapes, call.query.extents));
    bound.for_each_state([&](auto const& state) { detail::check_state_of_gradient(a, call.shapes, state); });
}

/// bind_gradient: the call that the arguments after a specification make, checked; ill_formed where the compiler can
/// tell that it is wrong. `A` is the specification, or one that runs in each sequence of a ragged batch.
template <attention_spec A, viewable Query, row_source Key, row_source Value, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, Query const& query, Key const& key, Value const& value, DResult const& d_result,
                   Asked const&... asked) {
    using specification = attention_within<A>;
    using call_type = decltype(bind_call(std::declval<specification const&>(), query, key, value));
    if constexpr (is_ill_formed<call_type>) {
        return ill_formed{};
    } else if constexpr (!detail::has_gradients<specification, Asked...>()) {
        return ill_formed{};
    } else {
        auto const given = as_rows(d_result);
        using element = std::remove_pointer_t<decltype(given.data)>;
        auto const states = std::tuple_cat(detail::states_among(asked)...);
        using bound_type = bound_gradient<call_type, element, std::remove_const_t<decltype(states)>>;
        bound_type bound{{as_rows(query), as_rows(key), as_rows(value), {}, {}, {}}, given, {}, states, {}};
        check_gradient_call(a, bound);
        using saved_type = typename bound_type::saved_type;
        auto const named = [&](auto const& argument) {
            using type = std::remove_cvref_t<decltype(argument)>;
            if constexpr (asked_gradient<type>) {
                return std::tuple(argument);
            } else if constexpr (detail::state_of_gradient<type> || gradient_of_weights<type>) {
                return std::tuple();
            } else if constexpr (detail::gradient_of_lse<type>) {
                constexpr bool fits = std::is_same_v<typename type::element, typename call_type::number>;
                static_assert(fits, "fovea: d_lse has numbers of another type than this call computes in");
                if constexpr (fits) bound.d_lse = argument.rows(bound.call.shapes);
                detail::require_sound(detail::region_of(bound.d_lse, "d_lse"));
                return std::tuple();
            } else {
                constexpr bool fits = std::is_same_v<typename type::value_type, typename saved_type::value_type>;
                static_assert(fits, "fovea: these saved_rows have numbers of another type than this call computes in");
                if constexpr (fits) bound.take(argument);
                return std::tuple();
            }
        };
        auto const arriving = [&](auto const& visit) {
            [[maybe_unused]] auto const see = [&]<class Argument>(Argument const& argument) {
                if constexpr (gradient_of_weights<Argument>)
                    visit(detail::region_of(argument.target, Argument::name.data()));
                else if constexpr (requires { argument.memory(visit); }) argument.memory(visit);
            };
            (see(asked), ...);
        };
        arriving([](auto const& region) { detail::require_sound(region); });
        std::apply([&](auto const&... each) { detail::check_targets(a, bound, arriving, each...); },
                   std::tuple_cat(named(asked)...));
        return bound;
    }
}
template <attention_spec A, viewable Source, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, Source const& x, DResult const& d_result, Asked const&... asked) {
    return bind_gradient(a, x, x, x, d_result, asked...);
}
template <attention_spec A, class Q, int QueryRank, class M, int MemoryRank, viewable DResult, extra_output... Asked>
auto bind_gradient(A const& a, queries_input<Q, QueryRank> const& x, memory_input<M, MemoryRank> const& m,
                   DResult const& d_result, Asked const&... asked) {
    return bind_gradient(a, x.source, m.source, m.source, d_result, asked...);
}

namespace detail {
/// Errors: shape_error for a table that is asked for and has more elements for heads than a call has: those of the rest
/// would stay 0.
template <class E, class Sums>
void check_heads_of_tables(E const& e, index_t heads, Sums const& sums) {
    if constexpr (is_node_of<at_operation, E>) {
        with_children(e, [&](auto const& table, auto const&... indices) {
            [[maybe_unused]] auto const require_few = [&](int axis) {
                if (table.table.extent(axis) > heads && table.table.extent(axis) != everywhere
                    && sums.asks(table.table))
                    raise_error(shape_error("grad names a table ", table.table.extents, " with ",
                                            counted(table.table.extent(axis), "element"), " along axis ", axis,
                                            ", one for each head, and the call has ", counted(heads, "head")));
            };
            int axis = 0;
            ((std::is_same_v<std::remove_cvref_t<decltype(indices)>, head_t> ? require_few(axis) : void(), ++axis),
             ...);
        });
    } else if constexpr (is_node<E>) {
        with_children(e, [&](auto const&... children) { (check_heads_of_tables(children, heads, sums), ...); });
    }
}

/// Finds what is asked for among the arrays that a call reads.
/// Errors: shape_error for an array that it does not read.
template <attention_spec A, class Bound, class Sums>
void find_arrays(A const& a, Bound const& bound, Sums& sums) {
    auto const& call = bound.call;
    auto const found_rows = [&](auto const& rows) {
        if constexpr (is_view<std::remove_cvref_t<decltype(rows)>>) sums.template found<true>(rows);
    };
    found_rows(call.query);
    found_rows(call.key);
    found_rows(call.value);
    for_each_array_with_gradient(a, [&](auto const& array) { sums.found(array); });
    std::apply([&](auto const&... past) { (sums.found(past.target), ...); }, bound.past());
    for_each_expression_of_weights(a, [&](auto const& e) { check_heads_of_tables(e, call.shapes.heads(), sums); });
    sums.require_found([&](auto const& visit) { for_each_array_read(a, call.query, call.key, call.value, visit); });
}

/// The arguments of gradient that ask for one.
template <class... Arguments>
auto gradients_among(Arguments const&... arguments) {
    [[maybe_unused]] auto const asked = [](auto const& argument) {
        if constexpr (asked_gradient<decltype(argument)>) return std::tuple(argument);
        else return std::tuple();
    };
    return std::tuple_cat(asked(arguments)...);
}

/// The sentence for a call that asks for no gradient.
template <class... Arguments>
constexpr bool names_gradients() {
    constexpr bool sound = !(is_ill_formed<Arguments> || ...), named = (asked_gradient<Arguments> || ...);
    static_assert(!sound || named,
                  "fovea: what gradient is asked for stands after the gradient of the result, as grad(array, target): "
                  "gradient(specification, query, key, value, d_result, grad(query, d_query))");
    return sound && named;
}

/// The gradients of weights among the arguments of gradient.
/// Errors: shape_error where one does not fit the call.
template <class T, class... Arguments>
arriving_gradients<T> arriving_among(operand_shapes const& shapes, Arguments const&... arguments) {
    arriving_gradients<T> all;
    [[maybe_unused]] auto const take = [&](auto const& argument) {
        using type = std::remove_cvref_t<decltype(argument)>;
        if constexpr (gradient_of_weights<type>) {
            constexpr bool fits = std::is_same_v<typename type::element, T>;
            static_assert(fits, "fovea: d_weights or d_entropy has numbers of another type than this call computes in");
            if constexpr (fits) argument.add_to(all, shapes);
        }
    };
    (take(arguments), ...);
    return all;
}

/// Calls compute(specification, bound call, asked...) for the arguments of gradient, if they make a call.
template <class Compute, attention_spec A, class... Arguments>
void with_gradient_call(Compute const& compute, A const& a, Arguments&&... arguments) {
    if constexpr (!names_gradients<Arguments...>()) {
    } else if constexpr (is_call<Arguments...>()) {
        auto const bound = bind_gradient(a, arguments...);
        if constexpr (!is_ill_formed<decltype(bound)>) {
            [[maybe_unused]] auto const compute_of = [&](auto const& of) {
                std::apply([&](auto const&... each) { compute(of, bound, each...); }, gradients_among(arguments...));
            };
            if constexpr (!(gradient_of_weights<std::remove_cvref_t<Arguments>> || ...)) {
                compute_of(a);
            } else {
                using number = typename std::remove_cvref_t<decltype(bound)>::call_type::number;
                static_assert(!packs_sequences<A>,
                              "fovea: d_weights and d_entropy are of one sequence: ask for gradients of a ragged batch "
                              "sequence by sequence");
                if constexpr (!packs_sequences<A>)
                    compute_of(attention_with_arriving(a, arriving_among<number>(bound.call.shapes, arguments...)));
            }
        }
    }
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
