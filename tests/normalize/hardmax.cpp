// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/hardmax.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"

#include <limits>

using namespace fovea;

TEST_CASE("hardmax keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(hardmax); }

TEST_CASE("the best key has all the weight, the first of equals", "[normalize]") {
    std::vector<index_t> const keys{0, 1, 2, 3};
    std::vector<double> row{1, 3, 3, 2};
    reference::normalize(hardmax, reference::row<double>{row, keys});
    CHECK(row == std::vector<double>{0, 1, 0, 0});

    std::vector<index_t> const listed{7, 5, 2};
    std::vector<double> ties{3, 3, 3};
    reference::normalize(hardmax, reference::row<double>{ties, listed});
    CHECK(ties == std::vector<double>{0, 0, 1});
}

TEST_CASE("hard attention copies a value and looks at no other", "[normalize]") {
    tensor<double, 2> q({1, 2}), k({3, 2}), v({3, 2}), out({1, 2}), w({1, 3});
    q.elements = {1, 0};
    k.elements = {1, 0, 5, 0, 2, 0};
    double const nan = std::numeric_limits<double>::quiet_NaN();
    v.elements = {nan, nan, 20, 21, nan, nan};
    reference::attend(dot | hardmax | weighted_sum, q, k, v, out, weights(w));
    CHECK(out.elements == std::vector<double>{20, 21});
    CHECK(w.elements == std::vector<double>{0, 1, 0});
}

TEST_CASE("the best key takes all", "[normalize]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({3, 1}), value({3, 1}), result({1, 1});
    key.elements = {0.9f, 0.1f, 0};
    value.elements = {1000, 2000, 3000};
    attend(dot | hardmax | weighted_sum, query, key, value, result);
    // result is 1000
    //! [example]
    CHECK(result(0, 0) == 1000);
}
