// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("additive is a network with one hidden layer", "[score]") {
    std::vector<float> const v{0.5f, -1, 2, 0.25f, -0.75f};
    testing::check_score_laws(additive(v), 5);
    testing::check_score_formula(
        additive(v),
        [&](auto query, auto key, auto const&) {
            double s = 0;
            for (std::size_t c = 0; c < v.size(); ++c) s += static_cast<double>(v[c]) * std::tanh(query[c] + key[c]);
            return s;
        },
        5);
}

TEST_CASE("additive is one line of the language", "[score]") {
    tensor<float, 1> const v({3}, 1);
    STATIC_REQUIRE(std::is_same_v<decltype(additive(v)), decltype(compare(sum(param(v) * tanh(q + k))))>);
    STATIC_REQUIRE(std::is_same_v<decltype(additive(v.view())), decltype(additive(v))>);
}

TEST_CASE("a hidden layer compares", "[score]") {
    //! [example]
    std::vector<float> const v{1, 1};
    tensor<float, 2> query({1, 2}, 0), key({2, 2}), value({2, 1}), result({1, 1});
    key.elements = {5, 5, -5, -5};
    value.elements = {10, 20};
    attend(additive(v) | softmax | weighted_sum, query, key, value, result);
    // the scores are near 2 and -2
    //! [example]
    CHECK(result(0, 0) == Approx(10 + 10 / (1 + std::exp(4))).epsilon(1e-3));
}
