// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of an attention: scores, mask, weights, and what they aggregate.
#pragma once

#include <fovea/reference/environment.hpp>
#include <fovea/reference/project.hpp>
#include <fovea/reference/row.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/visibility.hpp>

#include <numeric>
#include <span>
#include <vector>

namespace fovea::FOVEA_SET::reference {

/// The keys and the weights of one query.
template <class Real>
struct weighted_keys {
    std::vector<index_t> keys;
    std::vector<Real> weights;
};

/// The keys that a mask offers to a query: those it lists, or all.
template <mask M>
std::vector<index_t> candidates(M const& m, index_t query, index_t key_count) {
    std::vector<index_t> keys;
    if constexpr (enumerating_mask<M>) {
        auto const list = m.neighbor_list();
        auto const row = list.of(query);
        keys.assign(row.begin(), row.end());
    } else {
        keys.resize(static_cast<std::size_t>(key_count));
        std::iota(keys.begin(), keys.end(), index_t{0});
    }
    return keys;
}

/// The keys of one query that take part, with their scores, in its environment: that is a pair's whose key is the last.
template <class Real>
struct scored_keys : weighted_keys<Real> {
    pair_environment<Real> at;
    std::vector<index_t> edges;
};

/// The scores of one query. A pair that is masked, or whose score is -inf, takes no part.
template <score_function Score, mask M, class Visible, class Real>
scored_keys<Real> score_keys(Score const& of, M const& m, Visible const& visible, operands<Real> const& x,
                             index_t group, row_place const& place) {
    auto const [batch, head, query] = place;
    auto const score = of.expression();
    auto const features = [](array<Real> const& rows, index_t b, index_t h, index_t n) {
        return std::span<Real const>(rows.data() + rows.view().offset(b, h, n, 0),
                                     static_cast<std::size_t>(rows.extent(3)));
    };
    scored_keys<Real> result{{},
                             {{{}, batch, head, query, 0, x.query.extent(2), x.key.extent(2), x.query.extent(3)},
                              features(x.query, batch, head, query),
                              {}},
                             {}};
    auto& at = result.at;
    [[maybe_unused]] index_t place_of_edge = 0;  // in the list of keys
    if constexpr (enumerating_mask<M>) place_of_edge = m.neighbor_list().offsets[static_cast<std::size_t>(query)];
    for (auto const key : candidates(m, query, x.key.extent(2))) {
        at.key = key;
        if constexpr (enumerating_mask<M>) at.edge_number = m.neighbor_list().number(place_of_edge++);
        bool const takes_part = evaluate(visible, static_cast<index_environment<Real> const&>(at));
        if (takes_part) {
            at.key_features = features(x.key, batch, head / group, key);
            auto const s = static_cast<Real>(evaluate(score, at));
            if (s != excluded<Real>) {
                result.keys.push_back(key);
                result.weights.push_back(s);
                result.edges.push_back(at.edge_number);
            }
        }
    }
    return result;
}

/// normalize, where the normalizer may differ from row to row.
template <normalizer N, class Real>
Real normalize_at(N const& n, index_environment<Real> const& at, row<Real> const& all) {
    return normalize(normalizer_of_row(n, coordinates_of_row<Real>{at}), all);
}

/// The weights of one query: score, mask, normalizer, reweighting; the outputs see them on the way.
template <attention_spec A, class Real, class... Bound>
weighted_keys<Real> weigh(A const& a, operands<Real> const& x, index_t group, row_place const& place,
                          Bound const&... outputs) {
    auto result = score_keys(a.score, a.mask, visible_pairs(a), x, group, place);
    row<Real> const all{result.weights, result.keys};
    [[maybe_unused]] auto const show = [&](auto const& output) {
        if constexpr (takes_scores<std::remove_cvref_t<decltype(output)>>) output.scores(place, all);
    };
    (show(outputs), ...);
    auto const normalizer = normalizer_of(a.normalize);
    auto const log_sum = normalize_at(normalizer, result.at, all);
    if constexpr (is_reweighted<std::remove_cvref_t<decltype(a.normalize)>>) {
        weight_environment<Real> of_weight{result.at};
        for (std::size_t i = 0; i < result.keys.size(); ++i) {
            of_weight.key = result.keys[i];
            of_weight.edge_number = result.edges[i];
            of_weight.weight = result.weights[i];
            result.weights[i] = static_cast<Real>(evaluate(reweighting_of(a.normalize), of_weight));
        }
    }
    [[maybe_unused]] auto const finish = [&](auto const& output) {
        using bound = std::remove_cvref_t<decltype(output)>;
        if constexpr (takes_log_sum<bound>) output.log_sum(place, log_sum);
        if constexpr (takes_weights<bound>) output.weights(place, all);
    };
    (finish(outputs), ...);
    return result;
}

/// Calls f with the place of every row, in order.
template <class F>
void for_each_row(operand_shapes const& shapes, F const& f) {
    for (index_t b = 0; b < shapes.batches(); ++b)
        for (index_t h = 0; h < shapes.heads(); ++h)
            for (index_t i = 0; i < shapes.queries(); ++i) f(row_place{b, h, i});
}

/// The environment of what an aggregator adds to the values of a row; its key is set pair by pair.
template <class Real>
feature_environment<Real> pair_at(operand_shapes const& shapes, row_place const& at) {
    feature_environment<Real> here;
    here.batch = at.batch, here.head = at.head, here.query = at.query;
    here.queries = shapes.queries(), here.keys = shapes.keys(), here.dim = shapes.compared();
    return here;
}
/// The number that an aggregator adds to a feature of the value of a pair.
template <class Aggregate, class Real>
Real added_value(Aggregate const& a, feature_environment<Real>& pair, index_t feature) {
    if constexpr (value_adding_aggregator<Aggregate>) {
        pair.feature = static_cast<std::size_t>(feature);
        return static_cast<Real>(evaluate(a.added(), pair));
    } else {
        return 0;
    }
}

/// The result of one query before finishes, in sums(batch, head, query, feature), which have the aggregator's start.
template <attention_spec A, class Real, class Sums, class... Bound>
void aggregate_row(A const& a, operand_shapes const& shapes, operands<Real> const& x, row_place const& at, Sums&& sums,
                   Bound const&... outputs) {
    auto const [b, h, i] = at;
    auto const aggregator = core_of(a.aggregate);
    using aggregator_type = std::remove_const_t<decltype(aggregator)>;
    // The values of other keys are not looked at, unless their weights have gradients.
    using normalizer_type = std::remove_cvref_t<decltype(normalizer_of(a.normalize))>;
    constexpr bool picks_one = !is_recorded<Real> && one_hot_normalizer<row_normalizer<normalizer_type>>
                            && !is_reweighted<std::remove_cvref_t<decltype(a.normalize)>>
                            && linear_aggregator<aggregator_type>;
    auto const row = weigh(a, x, shapes.group(), at, outputs...);
    auto of_pair = pair_at<Real>(shapes, at);
    for (std::size_t n = 0; n < row.keys.size(); ++n) {
        if (picks_one && row.weights[n] == 0) continue;
        of_pair.key = row.keys[n];
        for (index_t c = 0; c < shapes.features(); ++c) {
            auto& sum = sums(b, h, i, c);
            Real const value = x.value(b, h / shapes.group(), row.keys[n], c) + added_value(aggregator, of_pair, c);
            sum = aggregator.step(sum, row.weights[n], value);
        }
    }
    for (index_t c = 0; c < shapes.features(); ++c)
        sums(b, h, i, c) = aggregated<aggregator_type>(sums(b, h, i, c), Real(1));
}

/// The result of all queries before finishes; the outputs see every row.
template <attention_spec A, class Real, class... Bound>
array<Real> aggregate(A const& a, operand_shapes const& shapes, operands<Real> const& x, Bound const&... outputs) {
    using aggregator_type = std::remove_const_t<decltype(core_of(a.aggregate))>;
    auto const group = shapes.group();
    array<Real> sums({shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()},
                     start_of<aggregator_type, Real>);
    [[maybe_unused]] auto const begin = [&](auto const& output) {
        if constexpr (requires { output.begin(); }) output.begin();
        if constexpr (takes_all_scores<std::remove_cvref_t<decltype(output)>, A>)
            for_each_row(shapes, [&](row_place const& at) {
                auto const all = score_keys(output.score_of(a), everything_t{}, always, x, group, at);
                std::vector<Real> scores(static_cast<std::size_t>(x.key.extent(2)), excluded<Real>);
                for (std::size_t n = 0; n < all.keys.size(); ++n)
                    scores[static_cast<std::size_t>(all.keys[n])] = all.weights[n];
                output.scores_of_run(at, 0, scores.data(), x.key.extent(2));
            });
    };
    (begin(outputs), ...);
    for_each_row(shapes, [&](row_place const& at) { aggregate_row(a, shapes, x, at, sums, outputs...); });
    return sums;
}

}  // namespace fovea::FOVEA_SET::reference
