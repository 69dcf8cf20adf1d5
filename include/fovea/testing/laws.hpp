// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of every part of an attention, for one's own words as for those of the library.
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/concepts.hpp>
#include <fovea/testing/mask_laws.hpp>
#include <fovea/testing/normalizer_laws.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/score_laws.hpp>
#include <fovea/testing/selection_laws.hpp>

#include <cmath>
#include <string>

namespace fovea::FOVEA_SET::testing {

/// check_aggregator_laws: what has to hold for every aggregator.
///
///     weight 0 adds nothing to an empty result
///     if linear: a step is sum + weight * value
///
/// Errors: law_broken naming the law.
template <aggregator A>
void check_aggregator_laws(A const& a, unsigned seed = 1) {
    dice random(seed);
    auto const none = [] { return std::string("a random sum, weight and value"); };
    for (int trial = 0; trial < 50; ++trial) {
        double const sum = random.real(-3, 3), weight = random.real(0, 1), value = random.real(-3, 3);
        law(a.step(0.0, 0.0, value) == 0, "weight 0 adds nothing to an empty result", none);
        if constexpr (linear_aggregator<A>) {
            double const expected = sum + weight * value;
            law(std::abs(a.step(sum, weight, value) - expected) <= 1e-12, "a linear step is sum + weight * value",
                none);
        }
    }
}

}  // namespace fovea::FOVEA_SET::testing

#include <fovea/core/epilogue.hpp>
