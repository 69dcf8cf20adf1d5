// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of an attention in plain loops: backwards through finishes, rows and projections.
#pragma once

#include <fovea/reference/aggregate.hpp>
#include <fovea/reference/cotangents.hpp>
#include <fovea/reference/finish_gradient.hpp>
#include <fovea/reference/normalize_gradient.hpp>
#include <fovea/reference/recurrent_gradient.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/call/differentiable.hpp>
#include <fovea/spec/shapes.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// A score, and the coordinates of its row.
template <class Real>
struct score_in_row : index_environment<Real> {
    Real score;
    using index_environment<Real>::operator();
    Real operator()(score_t) const { return score; }
};

/// The coordinates of a row that a backward rule may read, and the gradients that it gives the expressions of the row.
template <class Real, class Sums>
struct gradient_coordinates : coordinates_of_row<Real> {
    Sums& sums;

    template <class E>
    void add(E const& e, Real amount) const {
        backpropagate(e, this->at, amount, cotangents<Real, Sums>{sums});
    }
    /// The same for an expression of a score, whose gradient is returned.
    template <class E>
    Real add(E const& e, Real score, Real amount) const {
        Real of_score = 0;
        backpropagate(e, score_in_row<Real>{this->at, score}, amount, cotangents<Real, Sums>{sums, {}, {}, &of_score});
        return of_score;
    }
};

/// The gradients of the scores of a row through its log-sum-exp, whose derivative by a score is the weight, and that of
/// a sink: by a weight w of a score s the row is exp(s_j - s) w. A row without keys has none.
template <class N, class Real, class Facts>
void add_lse_gradient(N const& n, std::vector<Real> const& scores, Real d_lse, row_gradient<Real>& row,
                      Facts const& at) {
    if constexpr (fovea::detail::has_lse_gradient<N>) {
        auto const most = std::max_element(row.weights.begin(), row.weights.end());
        if (most == row.weights.end() || *most == 0) return;
        for (std::size_t j = 0; j < row.weights.size(); ++j) row.gradients[j] += row.weights[j] * d_lse;
        if constexpr (row_dependent_normalizer<N>)
            n.gradient_of_row(scores[static_cast<std::size_t>(most - row.weights.begin())], 1 / *most, -d_lse, at);
    }
}

/// The gradients of one row, added to those of the operands.
template <attention_spec A, class Real, class Sums>
void row_gradients(A const& a, operands<Real> const& x, array<Real> const& d, Real d_lse, row_place const& place,
                   index_t group, operands<Real>& result, Sums& sums) {
    auto const [b, h, i] = place;
    index_t const hk = h / group;
    auto scored = score_keys(a.score, a.mask, x, group, place);
    auto const normalizer = normalizer_of(a.normalize);
    row_gradient<Real> row{scored.weights, scored.weights, std::vector<Real>(scored.keys.size())};
    normalize(normalizer_of_row(normalizer, coordinates_of_row<Real>{scored.at}),
              reference::row<Real>{row.weights, scored.keys});
    constexpr bool reweighs = is_reweighted<std::remove_cvref_t<decltype(a.normalize)>>;
    auto const reweighting = reweighting_of(a.normalize);
    auto const aggregator = core_of(a.aggregate);
    feature_environment<Real> of_pair{scored.at};

    for (std::size_t n = 0; n < scored.keys.size(); ++n) {
        auto const key = scored.keys[n];
        weight_environment<Real> of_weight{scored.at};
        of_weight.key = key;
        of_weight.edge_number = scored.edges[n];
        of_weight.weight = row.weights[n];
        Real const weight = reweighs ? static_cast<Real>(evaluate(reweighting, of_weight)) : row.weights[n];
        Real of_this = 0;
        of_pair.key = key;
        for (index_t c = 0; c < d.extent(3); ++c) {
            of_this += d(b, h, i, c) * (x.value(b, hk, key, c) + added_value(aggregator, of_pair, c));
            if (weight == 0) continue;
            result.value(b, hk, key, c) += weight * d(b, h, i, c);
            if constexpr (value_adding_aggregator<std::remove_const_t<decltype(aggregator)>>)
                backpropagate(aggregator.added(), of_pair, weight * d(b, h, i, c), cotangents<Real, Sums>{sums});
        }
        if constexpr (aggregator_with_arriving<std::remove_const_t<decltype(aggregator)>>)
            of_this += aggregator.arriving.of(place, key, weight);
        if constexpr (reweighs)
            backpropagate(reweighting, of_weight, of_this, cotangents<Real, Sums>{sums, {}, {}, &row.gradients[n]});
        else row.gradients[n] = of_this;
    }

    normalize_gradient(normalizer, row, scored.keys, gradient_coordinates<Real, Sums>{{scored.at}, sums});
    if (d_lse != 0)
        add_lse_gradient(normalizer, scored.weights, d_lse, row, gradient_coordinates<Real, Sums>{{scored.at}, sums});

    auto const features = [](array<Real>& rows, index_t head, index_t position, index_t batch) {
        return std::span<Real>(rows.data() + rows.view().offset(batch, head, position, 0),
                               static_cast<std::size_t>(rows.extent(3)));
    };
    auto const score = a.score.expression();
    for (std::size_t n = 0; n < scored.keys.size(); ++n) {
        auto const key = scored.keys[n];
        auto& at = scored.at;
        at.key = key;
        at.edge_number = scored.edges[n];
        at.key_features = {x.key.data() + x.key.view().offset(b, hk, key, 0),
                           static_cast<std::size_t>(x.key.extent(3))};
        backpropagate(score, at, row.gradients[n],
                      cotangents<Real, Sums>{sums, features(result.query, h, i, b), features(result.key, hk, key, b)});
    }
}

/// differentiate: adds the gradients of everything that a call reads to `sums`, by its definition.
template <class Real, attention_spec A, class Bound, class Sums>
void differentiate(A const& a, Bound const& bound, Sums& sums) {
    auto const& call = bound.call;
    auto const& shapes = call.shapes;
    auto const x = project_operands<Real>(a, shapes, call.query, call.key, call.value);
    array<Real> const source = copy<Real>(call.query);
    array<Real> d_source(source.extents);
    auto heads = [&] {
        if constexpr (is_recurrent<A>) return recur_from_past(a, bound, x);
        else return aggregate(a, shapes, x);
    }();
    auto const d = finishes_gradient(a.aggregate, std::move(heads), source, copy<Real>(bound.d_result), d_source, sums);

    operands<Real> result{array<Real>(shapes.query), array<Real>(shapes.key), array<Real>(shapes.value)};
    if constexpr (is_recurrent<A>) recurrent_gradients(a, bound, x, d, result, sums);
    else
        for_each_row(shapes, [&](row_place const& at) {
            Real const d_lse =
                bound.d_lse.data != nullptr ? static_cast<Real>(bound.d_lse(at.batch, at.head, at.query)) : Real(0);
            row_gradients(a, x, d, d_lse, at, shapes.group(), result, sums);
        });

    sums.template add_rows<operand_role::query>(call.query, d_source.data());
    if constexpr (projection<decltype(a.project)>) {
        sums.template add_rows<operand_role::query>(
            call.query, project_gradient(a.project.query, call.query, std::move(result.query), sums).data());
        sums.template add_rows<operand_role::key>(
            call.key, project_gradient(a.project.key, call.key, std::move(result.key), sums).data());
        sums.template add_rows<operand_role::value>(
            call.value, project_gradient(a.project.value, call.value, std::move(result.value), sums).data());
    } else {
        sums.template add_rows<operand_role::query>(call.query, result.query.data());
        sums.template add_rows<operand_role::key>(call.key, result.key.data());
        sums.template add_rows<operand_role::value>(call.value, result.value.data());
    }
}

}  // namespace fovea::FOVEA_SET::reference
