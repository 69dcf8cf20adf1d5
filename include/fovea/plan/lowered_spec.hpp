// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification as the traversals that compute weights read it: its score lowered, its parts without their words.
#pragma once

#include <fovea/plan/lower.hpp>
#include <fovea/plan/reweighting.hpp>
#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET::plan {

/// What the words of an attention say of its keys: they are listed, or enter a state, or all are visited.
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

/// The lowered specification of an attention; `prepare` is applied to each expression before, and keeps its type.
template <attention_spec A, class Prepare = as_written>
constexpr auto lower_attention(A const& a, Prepare const& prepare = {}) {
    return lowered_spec{lower_for<lists_keys<A>>(prepare(a.score.expression())), prepare(a.mask.predicate()),
                        normalizer_of(a.normalize), prepare(reweighting_of(a.normalize)), core_of(a.aggregate)};
}

}  // namespace fovea::FOVEA_SET::plan
