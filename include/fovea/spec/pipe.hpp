// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipe that joins words into a specification, and a sentence each for what cannot be joined.
#pragma once

#include <fovea/core/diagnose.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/selection.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
template <class Slot>
inline constexpr bool is_empty_slot =
    std::is_same_v<Slot, unprojected_t> || std::is_same_v<Slot, no_score_t> || std::is_same_v<Slot, everything_t>
    || std::is_same_v<Slot, no_normalizer_t> || std::is_same_v<Slot, no_aggregator_t>;

/// The last role that an attention has filled; -1 for none.
template <class Project, class Score, class Mask, class Normalize, class Aggregate>
constexpr int last_role(attention<Project, Score, Mask, Normalize, Aggregate> const*) {
    if (!is_empty_slot<Aggregate>) return static_cast<int>(role::aggregator);
    if (is_only_keeping<Normalize>) return static_cast<int>(role::selection);
    if (!is_empty_slot<Normalize>) return static_cast<int>(role::normalizer);
    if (!is_empty_slot<Mask>) return static_cast<int>(role::mask);
    if (!is_empty_slot<Score>) return static_cast<int>(role::score);
    if (!is_empty_slot<Project>) return static_cast<int>(role::projection);
    return -1;
}

/// Whether a stage fits after what an attention has filled so far.
template <class Attention, class Stage>
constexpr bool fits() {
    constexpr int last = last_role(static_cast<Attention const*>(nullptr));
    constexpr role added = Stage::stage_role;
    if (added == role::finish) return last == static_cast<int>(role::aggregator);
    if (added == role::rescoring) return last == static_cast<int>(role::score);
    if (added == role::reweighting) return last == static_cast<int>(role::normalizer);
    if (added == role::mask || added == role::selection) return last <= static_cast<int>(added);
    return last < static_cast<int>(added);
}

/// One sentence for a normalizer that offers a part of what it needs.
template <class Normalize>
constexpr bool check_normalizer() {
    constexpr bool has_state = requires { typename Normalize::template state<double>; };
    constexpr bool has_fold = requires(Normalize const& n, typename Normalize::template state<double> s,
                                       row_archetype<double> row) { n.fold(s, row); };
    constexpr bool has_merge =
        requires(Normalize const& n, typename Normalize::template state<double> s) { n.merge(s, s); };
    static_assert(!has_fold || has_merge,
                  "fovea: this normalizer has fold but no merge: a streaming normalizer needs both, to combine two "
                  "halves of a row");
    static_assert(!has_state || has_fold || normalizer<Normalize>, "fovea: this normalizer has state but no fold");
    static_assert(normalizer<Normalize> || (has_fold && !has_merge) || (has_state && !has_fold),
                  "fovea: this is not a normalizer: give it weight(score), or state with fold, merge and finish, or "
                  "normalize(row)");
    return normalizer<Normalize>;
}

/// The sentences for a stage that does not fit after what stands there; true where it fits.
template <class Attention, class Stage>
constexpr bool check_order() {
    constexpr int last = last_role(static_cast<Attention const*>(nullptr));
    constexpr role added = Stage::stage_role;
    constexpr bool score_after_score = added == role::score && last == static_cast<int>(role::score);
    constexpr bool second_projection = added == role::projection && last == static_cast<int>(role::projection);
    constexpr bool second_normalizer = added == role::normalizer && last == static_cast<int>(role::normalizer);
    constexpr bool second_aggregator = added == role::aggregator && last == static_cast<int>(role::aggregator);
    constexpr bool repeated = score_after_score || second_projection || second_normalizer || second_aggregator;
    static_assert(!second_projection,
                  "fovea: this specification already has a projection; another cannot be added after it");
    static_assert(!score_after_score,
                  "fovea: this specification already has a score function; another cannot be added after it: to change "
                  "the score, use rescore(expression of score)");
    static_assert(!second_normalizer,
                  "fovea: this specification already has a normalizer; another cannot be added after it");
    static_assert(!second_aggregator,
                  "fovea: this specification already has an aggregator; another cannot be added after it");
    constexpr int rank = added == role::rescoring   ? static_cast<int>(role::score)
                       : added == role::reweighting ? static_cast<int>(role::normalizer)
                                                    : static_cast<int>(added);
    constexpr bool in_order = repeated || last <= rank || (added == role::finish);
    static_assert(in_order || added != role::projection,
                  "fovea: project(...) comes first: write it before the score function");
    static_assert(in_order || added != role::score,
                  "fovea: this is a score function: write it before the mask, the normalizer and the aggregator");
    static_assert(in_order || added != role::rescoring,
                  "fovea: rescore changes the score: write it after the score function and before the mask");
    constexpr bool kept_before = last == static_cast<int>(role::selection);
    static_assert(in_order || added != role::mask || !kept_before,
                  "fovea: keep chooses among the keys that a query sees: write the mask before it");
    static_assert(in_order || added != role::selection,
                  "fovea: keep chooses the keys that are normalized: write it after the masks and before the "
                  "normalizer");
    static_assert(in_order || added != role::mask || kept_before,
                  "fovea: this is a mask: write it after the score function and before the normalizer");
    static_assert(in_order || added != role::normalizer, "fovea: this is a normalizer: write it before the aggregator");
    static_assert(in_order || added != role::reweighting,
                  "fovea: reweight changes the weights: write it after the normalizer and before the aggregator");
    constexpr bool nothing_to_reweight = added == role::reweighting && last < static_cast<int>(role::normalizer);
    static_assert(!nothing_to_reweight,
                  "fovea: there are no weights to change yet: write a normalizer such as softmax before reweight");
    constexpr bool nothing_to_rescore = added == role::rescoring && last < static_cast<int>(role::score);
    static_assert(!nothing_to_rescore, "fovea: there is no score to rescore yet: write a score function before it");
    constexpr bool nothing_to_finish = added == role::finish && last < static_cast<int>(role::aggregator);
    static_assert(!nothing_to_finish,
                  "fovea: there is no result to finish yet: write an aggregator such as weighted_sum before it");
    return fits<Attention, Stage>();
}

template <class P, class C, class M, class N, class A, class S>
constexpr auto place(attention<P, C, M, N, A> const& a, S const& s) {
    if constexpr (S::stage_role == role::projection) {
        return attention<S, C, M, N, A>{s, a.score, a.mask, a.normalize, a.aggregate};
    } else if constexpr (S::stage_role == role::score) {
        return attention<P, S, M, N, A>{a.project, s, a.mask, a.normalize, a.aggregate};
    } else if constexpr (S::stage_role == role::rescoring) {
        return attention<P, rescored<C, S>, M, N, A>{a.project, {a.score, s}, a.mask, a.normalize, a.aggregate};
    } else if constexpr (S::stage_role == role::mask) {
        if constexpr (is_empty_slot<M>)
            return attention<P, C, S, N, A>{a.project, a.score, s, a.normalize, a.aggregate};
        else if constexpr (is_empty_slot<S>) return a;
        else
            return attention<P, C, intersection<M, S>, N, A>{a.project, a.score, {a.mask, s}, a.normalize, a.aggregate};
    } else if constexpr (S::stage_role == role::selection || S::stage_role == role::normalizer) {
        auto const n = [&] {
            if constexpr (is_only_keeping<N>) return followed_by(a.normalize, s);
            else return s;
        }();
        return attention<P, C, M, std::remove_const_t<decltype(n)>, A>{a.project, a.score, a.mask, n, a.aggregate};
    } else if constexpr (S::stage_role == role::reweighting) {
        return attention<P, C, M, reweighted<N, S>, A>{a.project, a.score, a.mask, {a.normalize, s}, a.aggregate};
    } else if constexpr (S::stage_role == role::aggregator) {
        return attention<P, C, M, N, S>{a.project, a.score, a.mask, a.normalize, s};
    } else {
        return attention<P, C, M, N, finished<A, S>>{a.project, a.score, a.mask, a.normalize, {a.aggregate, s}};
    }
}
}  // namespace detail

/// An operand of the pipe, on either side.
template <class T>
concept pipeable = attention_stage<T> || attention_spec<T>;

/// can_follow<Attention, Stage>: whether the stage may be added; it asks and never asserts.
template <class Attention, class Stage>
concept can_follow = attention_spec<Attention> && attention_stage<Stage> && detail::fits<Attention, Stage>();

template <pipeable Left, attention_stage Right>
constexpr auto operator|(Left const& left, Right const& right) {
    if constexpr (attention_stage<Left>) {
        return (empty_attention{} | left) | right;
    } else {
        constexpr bool placed = [] {
            if constexpr (detail::check_order<Left, Right>()) {
                if constexpr (Right::stage_role == role::normalizer) return detail::check_normalizer<Right>();
                else return true;
            } else {
                return false;
            }
        }();
        if constexpr (placed) return detail::place(left, right);
        else return ill_formed{};
    }
}

namespace detail {
/// A part with another one after it, such as a second mask: each is added by itself.
template <class Part>
inline constexpr bool is_two_parts = false;
template <class First, class Second>
inline constexpr bool is_two_parts<rescored<First, Second>> = true;
template <class First, class Second>
inline constexpr bool is_two_parts<intersection<First, Second>> = true;
template <class First, class Second>
inline constexpr bool is_two_parts<reweighted<First, Second>> = true;
template <class First, class Second>
inline constexpr bool is_two_parts<kept<First, Second>> = true;
template <class First, class Second>
inline constexpr bool is_two_parts<finished<First, Second>> = true;

template <class Before, class Part>
constexpr auto add_part(Before const& before, Part const& part) {
    if constexpr (is_empty_slot<Part>) return before;
    else if constexpr (is_two_parts<Part>) return add_part(add_part(before, part.first), part.second);
    else return before | part;
}
}  // namespace detail

/// A chain of words that was kept, such as softmax | weighted_sum: its parts are added one after the other.
template <pipeable Left, attention_spec Right>
constexpr auto operator|(Left const& left, Right const& right) {
    using detail::add_part;
    auto const scores = add_part(add_part(left, right.project), right.score);
    return add_part(add_part(add_part(scores, right.mask), right.normalize), right.aggregate);
}

// Sentences for what cannot be joined by `|`, `&&` and `||`.

/// An expression is no part of an attention.
template <class Left, expression Right>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: this is an expression: write where(condition), rescore(scores) or reweight(weights)");
    return {};
}

/// A selection is an argument of keep.
template <class Left, selection Right>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: this is a selection: write keep(...) around it");
    return {};
}
template <selection Left, class Right>
    requires pipeable<Right>
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: this is a selection: write keep(...) around it");
    return {};
}
template <selection Left, selection Right>
constexpr ill_formed operator&&(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: selections follow each other: write keep(...) | keep(...)");
    return {};
}

/// A function is a word once it is called: of what its name stands for, this takes the overload without arguments, and
/// that says so.
template <class Left>
    requires pipeable<Left>
constexpr ill_formed operator|(Left const&, ill_formed (&)()) {
    return {};
}

// Operands, executors and outputs are not joined.
namespace detail {
template <class Other>
constexpr bool is_no_part() {
    return !expression<Other> && !is_ill_formed<Other> && !selection<Other> && !std::is_function_v<Other>
        && !requires { typename Other::state_update_tag; } && !requires { typename Other::precision_tag; };
}
template <class Left, class Right>
constexpr bool is_refused_pipe() {
    if constexpr (pipeable<Left>) {
        if constexpr (pipeable<Right>) return false;
        else return is_no_part<Right>();
    } else if constexpr (pipeable<Right>) return is_no_part<Left>();
    else return false;
}
}  // namespace detail
template <class Left, class Right>
    requires(detail::is_refused_pipe<Left, Right>())
constexpr ill_formed operator|(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: words and specifications are joined by `|`; operands, threads and outputs are arguments of "
                  "attend");
    return {};
}

// Mistakes that have been reported are not reported again.
template <class Right>
constexpr ill_formed operator|(ill_formed, Right const&) {
    return {};
}
template <pipeable Left>
constexpr ill_formed operator|(Left const&, ill_formed) {
    return {};
}
template <class Left, class Right>
    requires(is_ill_formed<Left> || is_ill_formed<Right>)
constexpr ill_formed operator&&(Left const&, Right const&) {
    return {};
}
template <class Left, class Right>
    requires(is_ill_formed<Left> || is_ill_formed<Right>)
constexpr ill_formed operator||(Left const&, Right const&) {
    return {};
}
constexpr ill_formed operator!(ill_formed) { return {}; }

/// a | mask && mask | b: the compiler reads (a | mask) && (mask | b).
template <class Left, class Right>
    requires((attention_spec<Left> || attention_spec<Right>) && !is_ill_formed<Left> && !is_ill_formed<Right>)
constexpr ill_formed operator&&(Left const&, Right const&) {
    static_assert(never<Left>,
                  "fovea: `|` binds tighter than `&&`: put parentheses around the mask, or pipe the masks one after "
                  "the other");
    return {};
}
template <class Left, class Right>
    requires((attention_spec<Left> || attention_spec<Right>) && !is_ill_formed<Left> && !is_ill_formed<Right>)
constexpr ill_formed operator||(Left const&, Right const&) {
    static_assert(never<Left>, "fovea: `|` binds tighter than `||`: put parentheses around the mask");
    return {};
}

// Masks combine with masks and conditions alone.
namespace detail {
template <class Other>
constexpr bool is_no_mask() {
    return !mask<Other> && !attention_spec<Other> && !is_ill_formed<Other>;
}
template <class A, class B>
constexpr bool is_refused_logic() {
    if constexpr (expression<A> || expression<B>) return false;
    else if constexpr (mask<A>) return is_no_mask<B>();
    else if constexpr (mask<B>) return is_no_mask<A>();
    else return false;
}
template <class A>
constexpr ill_formed refuse_logic() {
    static_assert(never<A>, "fovea: a mask combines with masks and with conditions such as kv_idx < 5");
    return {};
}
}  // namespace detail
template <class A, class B>
    requires(detail::is_refused_logic<A, B>())
constexpr ill_formed operator&&(A const&, B const&) {
    return detail::refuse_logic<A>();
}
template <class A, class B>
    requires(detail::is_refused_logic<A, B>())
constexpr ill_formed operator||(A const&, B const&) {
    return detail::refuse_logic<A>();
}

// Masks have no bits either, beside each other and beside conditions.
template <mask A, class B>
    requires(mask<B> || expression<B>)
constexpr auto operator&(A const& a, B const&) {
    return detail::without_bits(a);
}
template <expression A, mask B>
constexpr auto operator&(A const&, B const& b) {
    return detail::without_bits(b);
}
template <mask A, class B>
    requires(mask<B> || expression<B>)
constexpr auto operator^(A const& a, B const&) {
    return detail::without_bits(a);
}
template <expression A, mask B>
constexpr auto operator^(A const&, B const& b) {
    return detail::without_bits(b);
}
template <mask A>
constexpr auto operator~(A const& a) {
    return detail::without_bits(a);
}

}  // namespace fovea::FOVEA_SET
