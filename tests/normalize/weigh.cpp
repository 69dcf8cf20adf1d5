// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/weigh.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("weigh keeps the laws of a normalizer", "[normalize]") {
    testing::check_normalizer_laws(weigh(sigmoid(score - 1)));
    testing::check_normalizer_laws(weigh(square(relu(score))));
}

TEST_CASE("weights are the function of their scores", "[normalize]") {
    std::vector<double> const scores{-3, -0.5, 0, 0.25, 2};
    for (std::size_t j = 0; j < scores.size(); ++j) {
        double const s = scores[j];
        CHECK(weights_of(weigh(sigmoid(score - 1)), scores)[j] == Approx(1 / (1 + std::exp(1 - s))));
        CHECK(weights_of(weigh(relu(score)), scores)[j] == std::max(s, 0.0));
        CHECK(weights_of(weigh(silu(score)), scores)[j] == Approx(s / (1 + std::exp(-s))));
        CHECK(weights_of(weigh(gelu(score)), scores)[j] == Approx(s * (1 + std::erf(s / std::sqrt(2.0))) / 2));
    }
}

TEST_CASE("functions of scores of any size are numbers where they have a limit", "[normalize]") {
    CHECK(weights_of(weigh(sigmoid(score)), {1e30, -1e30}) == std::vector<double>{1, 0});
    CHECK(weights_of(weigh(silu(score)), {1e30, -1e30}) == std::vector<double>{1e30, 0});
    CHECK(weights_of(weigh(gelu(score)), {1e30, -1e30}) == std::vector<double>{1e30, 0});
    CHECK(std::isnan(weights_of(weigh(relu(score)), {std::nan("")})[0]));
}

TEST_CASE("a function of scores, fused", "[normalize]") {
    check_fused_at_all_widths<float>(scaled_dot | causal | weigh(sigmoid(score - 2)) | weighted_sum);
    testing::compare_with_reference<double>(fused, scaled_dot | weigh(gelu(score)) | weighted_sum);
}

TEST_CASE("pairs that take no part have weight 0 whatever the function is", "[normalize]") {
    //! [example]
    tensor<float, 2> const x({2, 1}, 0);
    tensor<float, 2> result({2, 1}), halves({2, 2});
    attend(dot | causal | weigh(sigmoid(score)) | weighted_sum, x, result, weights(halves));
    // sigmoid(0) is 1/2; the first query does not see the second key
    //! [example]
    CHECK(halves.elements == std::vector<float>{0.5f, 0, 0.5f, 0.5f});
}
