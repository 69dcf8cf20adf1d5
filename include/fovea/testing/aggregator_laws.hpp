// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/concepts.hpp>
#include <fovea/testing/law.hpp>
#include <fovea/testing/random.hpp>

#include <cmath>
#include <vector>

namespace fovea::FOVEA_SET::testing {

/// check_aggregator_laws: what has to hold for every aggregator.
///
///     weight 0 adds nothing to an empty result
///     if linear: a factor of all weights is a factor of the result, and two halves of the keys add up to the whole
///
/// Errors: law_broken naming the law.
template <aggregator A>
void check_aggregator_laws(A const& a, unsigned seed = 1) {
    dice random(seed);
    auto const near = [](double x, double y) { return std::abs(x - y) <= 1e-12 * (1 + std::abs(x)); };
    auto const none = [] { return std::string("a random row of weights and values"); };
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> weights, values;
        for (index_t j = random.between(0, 20); j > 0; --j) {
            weights.push_back(random.real(0, 1));
            values.push_back(random.real(-3, 3));
        }
        auto const over = [&](std::size_t first, std::size_t last, double factor) {
            double sum = 0;
            for (auto j = first; j < last; ++j) sum = a.step(sum, factor * weights[j], values[j]);
            return sum;
        };
        law(a.step(0.0, 0.0, random.real(-3, 3)) == 0, "weight 0 adds nothing to an empty result", none);
        if constexpr (requires { requires A::linear; }) {
            double const whole = over(0, weights.size(), 1), factor = random.real(-2, 2);
            auto const half = static_cast<std::size_t>(random.between(0, static_cast<index_t>(weights.size())));
            law(near(over(0, weights.size(), factor), factor * whole), "a factor of the weights is one of the result",
                none);
            law(near(over(0, half, 1) + over(half, weights.size(), 1), whole), "two halves add up to the whole", none);
        }
    }
}

}  // namespace fovea::FOVEA_SET::testing
