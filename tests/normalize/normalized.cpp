// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/normalized.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("normalized keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(normalized(square(relu(score)), 1e-6));
    testing::check_normalizer_laws(normalized(sigmoid(score)));
}

TEST_CASE("weights are shares of the sum", "[normalize]") {
    CHECK(weights_of(normalized(relu(score)), {1.0, -5.0, 3.0}) == std::vector<double>{0.25, 0, 0.75});
    CHECK(weights_of(normalized(relu(score), 4), {1.0, -5.0, 3.0}) == std::vector<double>{0.125, 0, 0.375});
    CHECK(weights_of(normalized(relu(score)), {-1.0, -5.0}) == std::vector<double>{0, 0});
    CHECK(weights_of(normalized(relu(score), 0x1p100), {0x1p100, 0x1p101}) == std::vector<double>{0.25, 0.5});
}

TEST_CASE("normalized, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | normalized(square(relu(score)), 1e-6) | weighted_sum);
    std::vector<float> const biases{0.5f, -1, 2, 0, -0.25f, 1, -3, 0.75f};
    check_fused<float>(scaled_dot | causal | normalized(exp(score + param(biases)[head]), 1e-6) | weighted_sum);
}

TEST_CASE("scores are shares after a function of them", "[normalize]") {
    //! [example]
    tensor<float, 2> x({2, 1});
    x.elements = {1, 2};
    tensor<float, 2> result({2, 1}), shares({2, 2});
    attend(dot | normalized(square(score)) | weighted_sum, x, result, weights(shares));
    // the scores are 1 2 and 2 4, their squares 1 4 and 4 16
    //! [example]
    CHECK(shares(0, 0) == Approx(0.2));
    CHECK(shares(1, 1) == Approx(0.8));
}

TEST_CASE("normalized of numbers whose sum, or its inverse, float does not hold", "[normalize]") {
    check_quotients_of_any_size(normalized(relu(score)));
}
