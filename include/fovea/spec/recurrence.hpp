// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention with a running state: a query is multiplied with the sum of the products of keys and values, not with each
// key.
#pragma once

#include <fovea/expr/separate.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/shapes.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

struct no_gate_t {
    static constexpr std::string_view name = "";
};
struct no_correction_t {
    static constexpr std::string_view name = "";
};

/// recurrence: an aggregator that keeps S, (feature of the key, feature of the value), from key to key.
///
///     S *= exp(gate.decay);   u = v, or with a correction rate (v - S^T k);   S += k u^T;   out = S^T q
template <class Gate = no_gate_t, class Correction = no_correction_t>
struct recurrence : stage<role::aggregator> {
    using recurrence_tag = void;
    static constexpr bool gated = !std::is_same_v<Gate, no_gate_t>;
    static constexpr bool corrected = !std::is_same_v<Correction, no_correction_t>;
    FOVEA_NO_UNIQUE_ADDRESS Gate gate{};
    FOVEA_NO_UNIQUE_ADDRESS Correction correction{};

    constexpr recurrence() = default;
    constexpr recurrence(Gate const& g, Correction const& c) : gate(g), correction(c) {}
    std::string text() const {
        std::string line = "running_state";
        if (gated) line += " | " + std::string(Gate::name);
        if (corrected) line += " | " + std::string(Correction::name);
        return line;
    }
};

template <class A>
concept recurrent_aggregator = stage_of<A, role::aggregator> && requires { typename A::recurrence_tag; };

/// True for an attention that keeps a running state.
template <attention_spec A>
inline constexpr bool is_recurrent = recurrent_aggregator<decltype(core_of(std::declval<A const&>().aggregate))>;

/// A change of how a state runs: decay() makes it a gate, rate() a correction; each a step_gates.
template <class U>
concept gate_update = requires(U const& u) {
    typename U::state_update_tag;
    u.decay.row(0, 0, 0);
};
template <class U>
concept correction_update = requires(U const& u) {
    typename U::state_update_tag;
    u.rate.row(0, 0, 0);
};
template <class U>
concept state_update = gate_update<U> || correction_update<U>;

template <attention_stage Stage, state_update Update>
constexpr auto operator|(Stage const& stage, Update const& update) {
    return (empty_attention{} | stage) | update;
}
template <attention_spec A, state_update Update>
constexpr auto operator|(A const& a, Update const& update) {
    using before = std::remove_cvref_t<decltype(a.aggregate)>;
    auto const with = [&](auto const& aggregate) {
        using P = std::remove_cvref_t<decltype(a.project)>;
        using S = std::remove_cvref_t<decltype(a.score)>;
        using M = std::remove_cvref_t<decltype(a.mask)>;
        using N = std::remove_cvref_t<decltype(a.normalize)>;
        return attention<P, S, M, N, std::remove_cvref_t<decltype(aggregate)>>{a.project, a.score, a.mask, a.normalize,
                                                                               aggregate};
    };
    if constexpr (!recurrent_aggregator<before>) {
        static_assert(never<A>, "fovea: write running_state right before this");
        return ill_formed{};
    } else if constexpr ((gate_update<Update> && before::gated) || (correction_update<Update> && before::corrected)) {
        static_assert(never<A>, "fovea: this running state already has such a rule; another cannot be added after it");
        return ill_formed{};
    } else if constexpr (gate_update<Update>) {
        return with(
            recurrence<Update, std::remove_cvref_t<decltype(a.aggregate.correction)>>{update, a.aggregate.correction});
    } else {
        return with(recurrence<std::remove_cvref_t<decltype(a.aggregate.gate)>, Update>{a.aggregate.gate, update});
    }
}

/// A normalizer whose weights are the scores, or the scores divided by their sum.
template <class N>
concept score_keeping_normalizer = normalizer<N> && requires { requires N::weights_are_scores; };
template <class N>
concept sum_dividing_normalizer = normalizer<N> && requires { requires N::weights_are_scores_over_sum; };

/// Whether a query sees the keys up to its own position.
template <class Predicate>
inline constexpr bool is_causal_predicate =
    std::is_same_v<Predicate, std::remove_cvref_t<decltype(placeholders::kv_idx <= placeholders::q_idx)>>
    || std::is_same_v<Predicate, std::remove_cvref_t<decltype(placeholders::q_idx >= placeholders::kv_idx)>>;

template <attention_spec A>
inline constexpr bool is_causal_attention = is_causal_predicate<decltype(std::declval<A const&>().mask.predicate())>;
template <attention_spec A>
inline constexpr bool divides_by_sum =
    sum_dividing_normalizer<std::remove_cvref_t<decltype(std::declval<A const&>().normalize)>>;

/// A state that a call begins with, and one that it leaves: target is (batch, head, feature, feature).
template <class B>
concept gives_past_state = requires(B const& b) {
    typename B::past_state_tag;
    b.target;
};
template <class B>
concept takes_present_state = requires(B const& b) {
    typename B::present_state_tag;
    b.target;
};
template <class B>
concept concerns_state = gives_past_state<B> || takes_present_state<B>;

namespace detail {
/// The argument of a word for a state that is only read: Input<element, rank>.
template <template <class, int> class Input, class State>
constexpr auto state_input(State&& state) {
    auto const v = view_of(std::forward<State>(state));
    using element = typename std::remove_const_t<decltype(v)>::value_type;
    static_cast<void>(has_features_of_numbers<element>());
    return Input<element, decltype(v)::rank>{v};
}

/// True for a product over all features of query and key, if it is one.
template <class Score>
constexpr bool is_product_of_all_features() {
    if constexpr (!is_scaled_product<Score>()) return true;
    else {
        using term = decltype(scaled_product(std::declval<Score const&>(), unit{}));
        return decltype(term::over)::takes_all
            && uses<decltype(term::of_query), q_t> && uses<decltype(term::of_key), k_t>;
    }
}

/// The sentences for an attention with a running state.
template <class A>
constexpr bool is_sound_recurrence() {
    if constexpr (!is_recurrent<A>) return true;
    else {
        using score = decltype(std::declval<A const&>().score.expression());
        using normalize = std::remove_cvref_t<decltype(std::declval<A const&>().normalize)>;
        using mask = std::remove_cvref_t<decltype(std::declval<A const&>().mask)>;
        using aggregate = decltype(core_of(std::declval<A const&>().aggregate));
        constexpr bool product = is_scaled_product<score>();
        constexpr bool whole = is_product_of_all_features<score>();
        constexpr bool known_mask = is_empty_slot<mask> || is_causal_attention<A>;
        constexpr bool known_weights = score_keeping_normalizer<normalize> || divides_by_sum<A>;
        constexpr bool keeps_all = !is_kept<decltype(normalizer_of(std::declval<A const&>().normalize))>;
        constexpr bool in_order = is_causal_attention<A> || !known_mask || (!aggregate::gated && !aggregate::corrected);
        constexpr bool correctable = !aggregate::corrected || !divides_by_sum<A>;
        static_assert(
            product,
            "fovea: a running state needs a score that is a sum of products of the query and the key, such as "
            "dot, scaled_dot or feature_map(...)");
        static_assert(whole,
                      "fovea: a running state keeps all features of the keys: its score has no range of features, and "
                      "no table in place of q or k");
        static_assert(
            known_mask,
            "fovea: with a running state a query sees all keys or, with causal, those up to its own position: "
            "for other masks write weighted_sum");
        static_assert(keeps_all, "fovea: a running state holds no single keys: keep has none to choose from");
        static_assert(!keeps_all || known_weights,
                      "fovea: running_state needs the normalizer unnormalized or proportional");
        static_assert(in_order, "fovea: gated and delta run from position to position: write causal after the score");
        static_assert(correctable, "fovea: delta needs the normalizer unnormalized");
        return product && whole && known_mask && keeps_all && known_weights && in_order && correctable;
    }
}

/// The sentences for what is asked for beside the result.
template <class A, class Bound>
constexpr bool is_sound_beside_state() {
    constexpr bool has_state = is_recurrent<A>;
    static_assert(has_state || !concerns_state<Bound>,
                  "fovea: past_state, present_state and d_present_state belong to an attention with running_state");
    static_assert(
        !has_state || concerns_state<Bound>,
        "fovea: a running state makes no rows of weights: beside the result it has past_state and present_state");
    return has_state == concerns_state<Bound>;
}
}  // namespace detail

/// (batch, head, feature, feature) as given: a missing axis is the one of batch and head that has extent one.
template <class T, int Rank>
view<T, 4> state_of_call(view<T, Rank> const& target, operand_shapes const& shapes) {
    static_assert(Rank >= 2 && Rank <= 4,
                  "fovea: a state is (batch, head, feature of the key, feature of the value), with batch and head left "
                  "out where they are one");
    if constexpr (Rank == 3)
        if (shapes.key_heads() == 1) return as_heads(target);
    return with_leading_axes<4>(target);
}

/// One of the states of a ragged batch: (sequence, head, feature, feature).
///
/// Errors: shape_error when there is another number of states than of sequences.
template <class T>
view<T, 4> state_of_sequence(view<T, 4> const& all, index_t number, index_t sequences, std::string_view name) {
    if (all.extent(0) != sequences)
        raise_error(shape_error(name, " has ", detail::counted(all.extent(0), "state"), " for ",
                                detail::counted(sequences, "sequence")));
    return {all.place(number, index_t{0}, index_t{0}, index_t{0}),
            {1, all.extent(1), all.extent(2), all.extent(3)},
            all.strides};
}

namespace detail {
/// An argument that names such states, for one sequence.
template <class State>
State state_argument_of_sequence(State const& given, sequence_place const& at) {
    constexpr bool one_each = decltype(given.target)::rank == 4;
    static_assert(one_each, "fovea: states of a ragged batch are (sequence, head, feature, feature)");
    if constexpr (one_each) return {state_of_sequence(given.target, at.number, at.sequences, State::name)};
    else return given;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
