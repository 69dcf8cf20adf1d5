// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of the scores of a row, from those of its weights.
#pragma once

#include <fovea/expr/differentiate.hpp>
#include <fovea/reference/row.hpp>
#include <fovea/spec/row_gradient.hpp>
#include <fovea/spec/selection.hpp>

#include <vector>

namespace fovea::FOVEA_SET::reference {

/// row_gradient: the scores of one query, their weights, and the gradients of these, which become those of the scores.
template <class Real>
struct row_gradient {
    using value_type = Real;
    std::vector<Real> scores, weights, gradients;

    index_t size() const { return static_cast<index_t>(scores.size()); }

    template <class F>
    Real sum(F const& f) const {
        Real total = 0;
        for (std::size_t i = 0; i < scores.size(); ++i)
            total += static_cast<Real>(f(scores[i], weights[i], gradients[i]));
        return total;
    }
    template <class F>
    void map(F const& f) {
        for (std::size_t i = 0; i < scores.size(); ++i)
            gradients[i] = static_cast<Real>(f(scores[i], weights[i], gradients[i]));
    }
    /// The derivative of an elementwise weight at a score.
    template <class N>
    static Real slope(N const& n, Real score) {
        return fovea::detail::slope_of_weight(n, score);
    }
};

/// The gradients of the scores that a selection leaves; those of the others are 0, as they are steps.
template <class Selection, class Real>
row_gradient<Real> kept_of(Selection const& selection, row_gradient<Real> const& all, std::vector<index_t> const& keys,
                           std::vector<std::size_t>& places) {
    auto scores = all.scores;
    row<Real> const left{scores, keys};
    if constexpr (fixed_selection<Selection>) left.exclude_below(static_cast<Real>(selection.least()));
    else left.exclude_below(static_cast<Real>(selection.least(left)));
    row_gradient<Real> few;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (scores[i] == excluded<Real>) continue;
        places.push_back(i);
        few.scores.push_back(scores[i]);
        few.weights.push_back(all.weights[i]);
        few.gradients.push_back(all.gradients[i]);
    }
    return few;
}

/// normalize_gradient: the gradients of the weights of a row become those of its scores, by the rule of its normalizer.
/// `coordinates` has the value of an expression of the row, and takes its gradient.
template <normalizer N, class Real, class Facts>
void normalize_gradient(N const& n, row_gradient<Real>& all, std::vector<index_t> const& keys,
                        Facts const& coordinates) {
    if constexpr (is_kept<N>) {
        auto const selection = [&] {
            if constexpr (row_dependent_selection<decltype(n.first.selection)>)
                return n.first.selection.for_row(coordinates);
            else return n.first.selection;
        }();
        std::vector<std::size_t> places;
        auto few = kept_of(selection, all, keys, places);
        std::vector<index_t> keys_left;
        keys_left.reserve(places.size());
        for (auto const i : places) keys_left.push_back(keys[i]);
        normalize_gradient(n.second, few, keys_left, coordinates);
        all.map([](auto, auto, auto) { return Real(0); });
        for (std::size_t i = 0; i < places.size(); ++i) all.gradients[places[i]] = few.gradients[i];
    } else {
        differentiate_row(n, all, coordinates);
    }
}

}  // namespace fovea::FOVEA_SET::reference
