// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/relative_keys.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

#include <algorithm>
#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("relative_keys adds a vector for each distance to the keys", "[score]") {
    //! [example]
    testing::dice random(1);
    auto const table = testing::random_tensor<float, 2>(random, {7, 5});  // distances -3 to 3, five features
    auto const relative = relative_keys(table);
    //! [example]
    testing::check_score_laws(relative, 5);
    testing::check_score_formula(
        relative,
        [&](auto query, auto key, auto const& at) {
            index_t const distance = std::clamp<index_t>(at.key - at.query, -3, 3) + 3;
            double s = 0;
            for (std::size_t c = 0; c < 5; ++c)
                s += query[c] * (key[c] + static_cast<double>(table(distance, static_cast<index_t>(c))));
            return s / std::sqrt(5.0);
        },
        5);
}

TEST_CASE("relative_keys, fused", "[score]") {
    testing::dice random(2);
    auto const table = testing::random_tensor<float, 2>(random, {9, 16});
    check_fused<float>(relative_keys(table) | causal | softmax | weighted_sum,
                       testing::call_sizes{2, 4, 2, 33, 45, 16, 8});
}
