// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/softmax_plus_one.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "normalize/rows.hpp"
#include "support/fused.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("softmax_plus_one is softmax beside a score of 0", "[normalize]") {
    auto const with_zero = detail::softmax_beside<double>{{}, 0};
    CHECK(weights_of(with_zero, {0.0})[0] == Approx(0.5));
    CHECK(weights_of(with_zero, {-100.0, -100.0})[0] < 1e-40);
    CHECK(weights_of(with_zero, {100.0})[0] == Approx(1));
    testing::check_normalizer_laws(with_zero);
}

TEST_CASE("softmax_plus_one, fused", "[normalize]") {
    check_fused<float>(scaled_dot | causal | softmax_plus_one | weighted_sum);
}

TEST_CASE("a query may attend to nothing", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({2, 1}, -100), value({2, 1}, 5), result({1, 1});
    attend(dot | softmax_plus_one | weighted_sum, query, key, value, result);
    // all scores are -100: result is near 0, not 5
    //! [example]
    CHECK(std::abs(result(0, 0)) < 1e-20);
}
