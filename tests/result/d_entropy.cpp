// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: change
#include <fovea/fovea.hpp>
#include <fovea/gradient.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;

TEST_CASE("d_entropy adds what a loss makes of the entropy of the weights", "[result]") {
    tensor<double, 2> const query({1, 1}, 1), value({2, 1}, 1);
    tensor<double, 2> key({2, 1}), d_key({2, 1}), out({1, 1});
    key(1, 0) = std::log(3.);
    //! [example]
    auto const spec = dot | softmax | weighted_sum;
    tensor<double, 1> spread({1}), d_spread({1}, 1);
    attend(spec, query, key, value, out, entropy(spread));
    tensor<double, 2> const d_out({1, 1}, 0);
    gradient(spec, query, key, value, d_out, d_entropy(d_spread), grad(key, d_key));  // of the entropy itself
    //! [example]
    // dH/ds_j = -w_j (log w_j + H), of weights 1/4 and 3/4
    CHECK(d_key(0, 0) == Approx(-(std::log(0.25) + spread(0)) / 4));
    CHECK(d_key(1, 0) == Approx(-(std::log(0.75) + spread(0)) * 3 / 4));
}

TEST_CASE("where all weights are equal the entropy is greatest, and where one key has all it is least", "[result]") {
    tensor<double, 2> const query({1, 2}, 1), value({5, 1}, 1), d_out({1, 1}, 0);
    tensor<double, 2> key({5, 2}, 0.5), d_key({5, 2}, 7);
    tensor<double, 1> const d_spread({1}, 3);
    gradient(dot | softmax | weighted_sum, query, key, value, d_out, d_entropy(d_spread), grad(key, d_key));
    for (double element : d_key) CHECK(element == Approx(0).margin(1e-14));
    key(2, 0) = 2000;  // the other weights are 0
    gradient(dot | softmax | weighted_sum, query, key, value, d_out, d_entropy(d_spread), grad(key, d_key));
    for (double element : d_key) CHECK(element == 0);
}
