// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/unnormalized.hpp>
#include <fovea/score/feature_map.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

namespace {
double positive(double x) { return x > 0 ? x + 1 : std::exp(x); }
}  // namespace

TEST_CASE("feature_map keeps the laws of a score", "[score]") {
    testing::check_score_laws(feature_map(elu(q) + 1));
    testing::check_score_laws(feature_map(q * rsqrt(dim), relu(k)));
}

TEST_CASE("one map serves query and key", "[score]") {
    testing::check_score_formula(feature_map(elu(q) + 1), [](auto const& a, auto const& b, auto const&) {
        double sum = 0;
        for (std::size_t c = 0; c < a.size(); ++c) sum += positive(a[c]) * positive(b[c]);
        return sum;
    });
    STATIC_REQUIRE(std::is_same_v<decltype(feature_map(relu(q))), decltype(feature_map(relu(q), relu(k)))>);
}

TEST_CASE("query and key may have maps of their own", "[score]") {
    testing::check_score_formula(feature_map(tanh(q), exp(k)), [](auto const& a, auto const& b, auto const&) {
        double sum = 0;
        for (std::size_t c = 0; c < a.size(); ++c) sum += std::tanh(a[c]) * std::exp(b[c]);
        return sum;
    });
}

TEST_CASE("feature maps in an attention", "[score]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 1);
    tensor<float, 2> result({2, 1}), w({2, 2});
    attend(feature_map(elu(q) + 1) | causal | unnormalized | weighted_sum, x, result, weights(w));
    // elu(1) + 1 is 2 on both sides: each visible pair weighs 4
    //! [example]

    CHECK(w.elements == std::vector<float>{4, 0, 4, 4});
    CHECK(result.elements == std::vector<float>{4, 8});
}
