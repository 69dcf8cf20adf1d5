// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/gradient.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/normalize/sparsemax.hpp>
#include <fovea/result/save.hpp>
#include <fovea/score/dot.hpp>

#include "catch.hpp"

#include <cmath>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("save leaves the sums of rows, and the result", "[result]") {
    //! [example]
    tensor<float, 2> const query({2, 1}, 1), key({8, 1}, 3), value({8, 1}, 5), d_result({2, 1}, 1);
    tensor<float, 2> result({2, 1}), d_value({8, 1});
    saved_rows<float> state;
    auto const spec = dot | where(q_idx == 0) | softmax | weighted_sum;  // query 1 sees nothing
    attend(spec, query, key, value, result, save(state));
    gradient(spec, query, key, value, d_result, state, grad(value, d_value));
    // d_value: each of 8 equal weights, 1/8
    //! [example]
    REQUIRE(state.complete());
    auto const log_sum = std::log(state.sum()(0, 0, 0)) + state.max()(0, 0, 0);
    CHECK(log_sum == Approx(3 + std::log(8.0)));
    CHECK(state.sum()(0, 0, 1) == 0);
    CHECK(state.result()(0, 0, 0, 0) == Approx(5));
    for (index_t k = 0; k < 8; ++k) CHECK(d_value(k, 0) == Approx(0.125));
}

TEST_CASE("save leaves nothing where the gradient needs another thing", "[result]") {
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> result({3, 2});
    saved_rows<float> state;
    attend(dot | softmax | weighted_sum, x, result, save(state));
    CHECK(state.complete());
    attend(dot | sparsemax | weighted_sum, x, result, save(state));
    CHECK_FALSE(state.complete());
}

TEST_CASE("saved results have all bits where those of the call have fewer", "[result]") {
    tensor<float, 2> const x({3, 2}, 1.25f / 3);
    tensor<float, 2> wide({3, 2});
    tensor<bfloat16, 2> narrow({3, 2});
    saved_rows<float> of_wide, of_narrow;
    auto const spec = dot | softmax | weighted_sum;
    attend(spec, x, wide, save(of_wide));
    attend(spec, x, narrow, save(of_narrow));
    REQUIRE(of_narrow.complete());
    for (index_t n = 0; n < 3; ++n)
        for (index_t c = 0; c < 2; ++c) {
            CHECK(of_narrow.result()(0, 0, n, c) == of_wide.result()(0, 0, n, c));
            CHECK(static_cast<float>(narrow(n, c)) == static_cast<float>(bfloat16(wide(n, c))));
        }
}

TEST_CASE("saved rows allocate once for calls of one shape", "[result]") {
    tensor<double, 2> const x({3, 2}, 1);
    tensor<double, 2> result({3, 2});
    saved_rows<double> state;
    attend(dot | softmax | weighted_sum, x, result, save(state));
    auto const* const before = state.result().data;
    attend(dot | softmax | weighted_sum, x, result, save(state));
    CHECK(state.result().data == before);
}
