// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/averaged.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("averaged keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(averaged(relu(score)));
}

TEST_CASE("keys that are not seen are not counted", "[normalize]") {
    CHECK(weights_of(averaged(relu(score)), {3.0, excluded<double>, -1.0, 9.0}) == std::vector<double>{1, 0, 0, 3});
}

TEST_CASE("averaged, fused", "[normalize]") {
    check_fused<float>(scaled_dot | causal | averaged(relu(score)) | weighted_sum);
    std::vector<float> const biases{0.5f, -1, 2, 0, -0.25f, 1, -3, 0.75f};
    check_fused<float>(scaled_dot | causal | averaged(relu(score + param(biases)[head])) | weighted_sum);
}

TEST_CASE("a query divides by the keys it sees", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 2);
    tensor<float, 2> result({2, 1});
    attend(dot | causal | averaged(relu(score)) | weighted_sum, x, result);
    // scores are 4, values 2: the first query has 4 * 2 / 1, the second (4 * 2 + 4 * 2) / 2
    //! [example]
    CHECK(result.elements == std::vector<float>{8, 8});
}
