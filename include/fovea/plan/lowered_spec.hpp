// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification as the traversals that compute weights read it: its score lowered, its parts without their words.
#pragma once

#include <fovea/plan/normalizing.hpp>
#include <fovea/plan/one_sided.hpp>
#include <fovea/spec/recurrence.hpp>
#include <fovea/spec/visibility.hpp>

namespace fovea::FOVEA_SET::plan {

/// The keys of an attention by its words: they are listed, or enter a state, or all are visited.
template <attention_spec A>
inline constexpr bool lists_keys = !is_recurrent<A> && enumerating_mask<decltype(std::declval<A const&>().mask)>;
template <attention_spec A>
inline constexpr bool is_dense = !is_recurrent<A> && !lists_keys<A>;

/// A score and a mask without the rest of a specification.
template <class Score, class Predicate>
struct lowered_score {
    Score score;
    Predicate predicate;
};
template <class Score, class Predicate>
lowered_score(Score, Predicate) -> lowered_score<Score, Predicate>;

template <class Score, class Predicate, class Normalize, class Reweight, class Aggregate>
struct lowered_spec {
    Score score;
    Predicate predicate;
    Normalize normalize;
    Reweight reweight;  // `weight` where the weights stay as they are
    Aggregate aggregate;
    static constexpr bool reweights = !std::is_same_v<Reweight, weight_t>;
    static constexpr bool reweights_rows = reweights && !scales_weight<Reweight>;  // final weights only
};

template <class Score, class Predicate, class Normalize, class Reweight, class Aggregate>
lowered_spec(Score, Predicate, Normalize, Reweight, Aggregate)
    -> lowered_spec<Score, Predicate, Normalize, Reweight, Aggregate>;

/// An expression as it is.
struct as_written {
    template <class E>
    constexpr E operator()(E const& e) const {
        return e;
    }
};

/// The score and the condition of a dense call: what both read of tables for one side alone is a term of the score.
/// `KeysInLanes`: the normalizer has them there, whatever the score is.
template <bool KeysInLanes = false, class E, class Predicate>
constexpr auto lower_pairs(E const& score, Predicate const& predicate) {
    auto const whole = lower_for<false>(score);
    if constexpr (!detail::reads_reals<decltype(whole.pointwise)> && !detail::reads_reals<Predicate>) {
        return lowered_score{whole, predicate};
    } else {
        constexpr bool per_head = KeysInLanes || !is_one_product<std::remove_const_t<decltype(whole.parts)>>;
        auto const rest = hoist<per_head>(whole.pointwise, whole.parts);
        auto const seen = hoist<per_head>(predicate, rest.parts);
        return lowered_score{lowered<decltype(rest.pointwise), decltype(seen.parts)>{rest.pointwise, seen.parts},
                             seen.pointwise};
    }
}

/// True where a normalizer takes no rows in lanes, so that keys are there.
template <attention_spec A>
inline constexpr bool has_keys_in_lanes = [] {
    using normalizer = std::remove_cvref_t<decltype(normalizer_of(std::declval<A const&>().normalize))>;
    return !normalizing<normalizer, double>::folds_alike || !normalizing<normalizer, double>::takes_lanes;
}();

/// The lowered specification of an attention; `prepare` is applied to each expression before, and keeps its type.
template <attention_spec A, class Prepare = as_written>
constexpr auto lower_attention(A const& a, Prepare const& prepare = {}) {
    auto const pairs = [&] {
        auto const score = prepare(a.score.expression());
        auto const predicate = prepare(visible_pairs(a));
        if constexpr (is_dense<A>) return lower_pairs<has_keys_in_lanes<A>>(score, predicate);
        else return lowered_score{lower_for<true>(score), predicate};
    }();
    return lowered_spec{pairs.score, pairs.predicate, normalizer_of(a.normalize), prepare(reweighting_of(a.normalize)),
                        core_of(a.aggregate)};
}

}  // namespace fovea::FOVEA_SET::plan
