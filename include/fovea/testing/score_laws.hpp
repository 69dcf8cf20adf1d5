// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/testing/mask_laws.hpp>

#include <cmath>
#include <span>
#include <sstream>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// A query and a key for one pair: random features.
struct random_pair {
    std::vector<double> q, k;

    random_pair(dice& from, index_t features, double size = 1) {
        for (index_t c = 0; c < features; ++c) {
            q.push_back(from.real(-size, size));
            k.push_back(from.real(-size, size));
        }
    }
};

/// score_at: a score, or any expression of a pair, for given features and indices.
template <class Real = double, class E>
Real score_at(E const& e, std::span<Real const> q, std::span<Real const> k,
              reference::index_environment<Real> at = {}) {
    at.dim = static_cast<index_t>(q.size());
    return static_cast<Real>(evaluate(e, reference::pair_environment<Real>{at, q, k}));
}

/// check_score_formula: a score equals formula(q, k, pair), a plain function of two rows of features.
///
/// Errors: law_broken naming the pair and both numbers.
template <score_function S, class Formula>
void check_score_formula(S const& s, Formula const& formula, index_t features = 16, lengths const& n = {},
                         unsigned seed = 1) {
    dice random(seed);
    for (int trial = 0; trial < 100; ++trial) {
        random_pair const pair(random, features, trial % 2 == 0 ? 1 : 5);
        auto const at = detail::pair_at(random.between(0, n.batches - 1), random.between(0, n.heads - 1),
                                        random.between(0, n.queries - 1), random.between(0, n.keys - 1), n);
        std::span<double const> const q(pair.q), k(pair.k);
        double const got = score_at<double>(s.expression(), q, k, at);
        double const expected = static_cast<double>(formula(q, k, at));
        law(std::abs(got - expected) <= 1e-12 * (1 + std::abs(expected)), "a score is what its formula says", [&] {
            std::ostringstream text;
            text << print(s.expression()) << " is " << got << ", the formula gives " << expected << " for "
                 << detail::pair_text(at.batch, at.head, at.query, at.key);
            return text.str();
        });
    }
}

/// check_score_laws: what has to hold for every score.
///
///     what intervals say of the score over a box holds for every pair in it
///     features that are numbers give a score that is a number
///
/// Errors: law_broken naming the law and the pair.
template <score_function S>
void check_score_laws(S const& s, index_t features = 16, lengths const& n = {}, unsigned seed = 1) {
    auto const e = s.expression();
    dice random(seed);
    for (int trial = 0; trial < 40; ++trial) {
        auto const where = detail::random_box(random, n);
        interval<double> const said = bound(e, where);
        for (int sample = 0; sample < 20; ++sample) {
            random_pair const pair(random, features, 3);
            auto const at = detail::pair_at(
                random.between(where.batch.lo, where.batch.hi), random.between(where.head.lo, where.head.hi),
                random.between(where.q_idx.lo, where.q_idx.hi), random.between(where.kv_idx.lo, where.kv_idx.hi), n);
            double const value = score_at<double>(e, pair.q, pair.k, at);
            auto const text = [&] {
                return print(e) + " is " + std::to_string(value) + " for "
                     + detail::pair_text(at.batch, at.head, at.query, at.key);
            };
            law(!std::isnan(value), "a score of numbers is a number", text);
            law(said.lo <= value && value <= said.hi, "what intervals say of a score holds for every pair", text);
        }
    }
}

}  // namespace fovea::FOVEA_SET::testing
