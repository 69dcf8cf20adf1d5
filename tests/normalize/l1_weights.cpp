// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/l1_weights.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("l1_weights keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(l1_weights); }

TEST_CASE("the sizes of weights sum to one", "[normalize]") {
    CHECK(weights_of(l1_weights, {1.0, -3.0, excluded<double>, 4.0}) == std::vector<double>{0.125, -0.375, 0, 0.5});
    CHECK(weights_of(l1_weights, {0.0, 0.0}) == std::vector<double>{0, 0});
}

TEST_CASE("l1_weights, fused", "[normalize]") { check_fused<float>(scaled_dot | causal | l1_weights | weighted_sum); }

TEST_CASE("weights keep the sign of their scores", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({2, 1}), value({2, 1}, 1), result({1, 1}), signs({1, 2});
    key.elements = {3, -1};
    attend(dot | l1_weights | weighted_sum, query, key, value, result, weights(signs));
    // signs is {0.75, -0.25}
    //! [example]
    CHECK(signs.elements == std::vector<float>{0.75f, -0.25f});
}

TEST_CASE("l1_weights of numbers whose sum, or its inverse, float does not hold", "[normalize]") {
    check_quotients_of_any_size(l1_weights);
}

TEST_CASE("l1_weights of bfloat16 whose products are the least normal numbers", "[normalize]") {
    for (index_t const queries : {1, 8, 50}) {
        tensor<bfloat16, 2> query({queries, 6}), key({40, 6}), value({40, 3});
        for (index_t i = 0; i < queries; ++i) query(i, 0) = bfloat16(0x1p-63f);
        for (index_t j = 0; j < 40; ++j) key(j, 0) = bfloat16(0x1p-63f), value(j, 1) = bfloat16(0.25f);
        tensor<float, 2> result({queries, 3});
        attend(dot | l1_weights | weighted_sum, query, key, value, result);
        for (index_t i = 0; i < queries; ++i) CHECK(result(i, 1) == Approx(0.25f));
    }
}
