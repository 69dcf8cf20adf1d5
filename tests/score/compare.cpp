// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/score_laws.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("compare makes a score of any expression of query and key", "[score]") {
    testing::check_score_laws(compare(sum(q * k) / 8));
    testing::check_score_formula(compare(sum(abs(q - k)) + 2 * kv_idx), [](auto query, auto key, auto const& at) {
        double s = 2 * static_cast<double>(at.key);
        for (std::size_t c = 0; c < query.size(); ++c) s += std::abs(query[c] - key[c]);
        return s;
    });
}

TEST_CASE("parameters inside the sum run along the features", "[score]") {
    std::vector<float> const table{1, 2, 4, 8};  // (head, feature)
    auto const per_head = param(view<float const, 2>(table.data(), {2, 2}));
    testing::check_score_formula(
        compare(sum(per_head[head % 2] * q * k)),
        [&](auto query, auto key, auto const& at) {
            auto const* w = table.data() + 2 * (at.head % 2);
            return static_cast<double>(w[0]) * query[0] * key[0] + static_cast<double>(w[1]) * query[1] * key[1];
        },
        2);
}

TEST_CASE("compare prints what it compares", "[score]") {
    CHECK(describe(compare(sum(q * k) / 8)) == "compare(sum(q * k) / 8)");
}

TEST_CASE("any expression of features is a score", "[score]") {
    //! [example]
    tensor<float, 2> query({1, 2}, 1), key({2, 2}), value({2, 1}), result({1, 1});
    key.elements = {1, 1, 9, 9};
    value.elements = {10, 20};
    attend(compare(-sum(square(q - k))) | softmax | weighted_sum, query, key, value, result);
    // the first key is where the query is, the second far away
    //! [example]
    CHECK(result(0, 0) == Approx(10));
}
