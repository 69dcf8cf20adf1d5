// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of an attention: scores, mask, weights, and what they aggregate.
#pragma once

#include <fovea/reference/environment.hpp>
#include <fovea/reference/normalize.hpp>
#include <fovea/reference/project.hpp>

#include <numeric>
#include <span>
#include <vector>

namespace fovea::reference {

/// The keys and the weights of one query, and the logarithm of their sum.
template <class Real>
struct weighted_keys {
    std::vector<index_t> keys;
    std::vector<Real> weights;
    Real log_sum = excluded<Real>;
};

/// The keys that a mask offers to a query: those it lists, or all.
template <mask M>
std::vector<index_t> candidates(M const& m, index_t query, index_t key_count) {
    std::vector<index_t> keys;
    if constexpr (enumerating_mask<M>) {
        for (auto const key : m.neighbor_list().of(query)) keys.push_back(static_cast<index_t>(key));
    } else {
        keys.resize(static_cast<std::size_t>(key_count));
        std::iota(keys.begin(), keys.end(), index_t{0});
    }
    return keys;
}

/// The weights of one query: score, mask and normalizer. A pair that is masked, or whose score is -inf, takes no part.
template <attention_spec A, class Real>
weighted_keys<Real> weigh(A const& a, operands<Real> const& x, index_t group, index_t batch, index_t head,
                          index_t query) {
    auto const score = a.score.expression();
    auto const visible = a.mask.predicate();
    auto const features = [](array<Real> const& rows, index_t b, index_t h, index_t n) {
        return std::span<Real const>(rows.data() + rows.view().offset(b, h, n, 0),
                                     static_cast<std::size_t>(rows.extent(3)));
    };
    pair_environment<Real> at{{{}, batch, head, query, 0, x.query.extent(2), x.key.extent(2), x.query.extent(3)},
                              features(x.query, batch, head, query),
                              {}};
    weighted_keys<Real> result;
    for (auto const key : candidates(a.mask, query, x.key.extent(2))) {
        at.key = key;
        if (!evaluate(visible, static_cast<index_environment<Real> const&>(at))) continue;
        at.key_features = features(x.key, batch, head / group, key);
        auto const s = static_cast<Real>(evaluate(score, at));
        if (s == excluded<Real>) continue;
        result.keys.push_back(key);
        result.weights.push_back(s);
    }
    result.log_sum = normalize(a.normalize, row<Real>{result.weights, result.keys});
    return result;
}

/// Everything an attention computes before its finishes: the rows of all queries, and what they aggregate.
template <class Real>
struct attended {
    tensor<weighted_keys<Real>, 3> rows;  // (batch, head, query)
    array<Real> sums;
};

template <attention_spec A, class Real>
attended<Real> aggregate(A const& a, operand_shapes const& shapes, operands<Real> const& x) {
    auto const aggregator = core_of(a.aggregate);
    auto const group = shapes.group();
    constexpr bool picks_one = one_hot_normalizer<decltype(a.normalize)>;  // the values of other keys are not looked at
    attended<Real> all{tensor<weighted_keys<Real>, 3>({shapes.batches(), shapes.heads(), shapes.queries()}),
                       array<Real>({shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()})};
    for (index_t b = 0; b < shapes.batches(); ++b)
        for (index_t h = 0; h < shapes.heads(); ++h)
            for (index_t i = 0; i < shapes.queries(); ++i) {
                auto& row = all.rows(b, h, i) = weigh(a, x, group, b, h, i);
                for (std::size_t n = 0; n < row.keys.size(); ++n) {
                    if (picks_one && row.weights[n] == 0) continue;
                    for (index_t c = 0; c < shapes.features(); ++c) {
                        auto& sum = all.sums(b, h, i, c);
                        sum = aggregator.step(sum, row.weights[n], x.value(b, h / group, row.keys[n], c));
                    }
                }
            }
    return all;
}

}  // namespace fovea::reference
