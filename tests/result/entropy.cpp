// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_case.hpp"

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/result/entropy.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("entropy is what the definition says", "[result]") {
    output_case subject;
    subject.check<float, 3>(scaled_dot | where(kv_idx + 3 < q_idx) | softmax | weighted_sum, {2, 4, 19},
                            [](auto& t) { return entropy(t); });
}

TEST_CASE("entropy runs from one key to all keys", "[result]") {
    //! [example]
    tensor<float, 2> const query({2, 1}, 0), key({8, 1}, 1), value({8, 1}, 1);
    tensor<float, 2> result({2, 1});
    tensor<float, 1> spread({2});
    auto const first_sees_one = where(q_idx == 1 || kv_idx == 0);
    attend(dot | first_sees_one | softmax | weighted_sum, query, key, value, result, entropy(spread));
    // spread is 0 for the first query and log(8) for the second
    //! [example]
    CHECK(spread.elements[0] == 0);
    CHECK(spread.elements[1] == Approx(std::log(8)));
}

TEST_CASE("the entropy of weights that are NaN is NaN", "[result]") {
    tensor<float, 2> const query({1, 1}, std::numeric_limits<float>::quiet_NaN()), key({8, 1}, 1), value({8, 1}, 1);
    tensor<float, 2> result({1, 1});
    tensor<float, 1> spread({1});
    attend(dot | where(q_idx == 1 || kv_idx == 0) | softmax | weighted_sum, query, key, value, result, entropy(spread));
    CHECK(std::isnan(spread.elements[0]));
}
