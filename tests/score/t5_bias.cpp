// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/core/tensor.hpp>
#include <fovea/score/t5_bias.hpp>

#include "catch.hpp"
#include "score/rescoring.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The bucket of a relative position as T5's authors define it.
index_t bucket_of(index_t relative, bool both, index_t buckets, index_t max_distance) {
    index_t result = 0, n = -relative;
    if (both) {
        buckets /= 2;
        result += n < 0 ? buckets : 0;
        n = std::abs(n);
    } else {
        n = std::max<index_t>(n, 0);
    }
    index_t const exact = buckets / 2;
    if (n < exact) return result + n;
    auto const log = std::log(static_cast<double>(n) / static_cast<double>(exact))
                   / std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    return result + std::min(exact + static_cast<index_t>(log * static_cast<double>(buckets - exact)), buckets - 1);
}

}  // namespace

TEST_CASE("t5_bias reads a table by buckets of distance", "[score]") {
    //! [example]
    tensor<float, 2> table({32, 2});  // (bucket, head)
    for (index_t b = 0; b < 32; ++b)
        for (index_t h = 0; h < 2; ++h) table(b, h) = static_cast<float>(b + 100 * h);
    auto const buckets = t5_buckets(16, 128, 64);  // of one direction, for up to 64 positions
    auto const learned = t5_bias(table, buckets);
    //! [example]
    for (index_t i = 0; i < 64; i += 7)
        for (index_t j = 0; j < 64; ++j)
            CHECK(rescored_to(learned, 0, 0, 1, i, j) == static_cast<double>(100 + bucket_of(j - i, true, 32, 128)));
    auto const one_way = t5_buckets(32, 128, 64);
    auto const causal = t5_bias(table, one_way, false);
    for (index_t j = 0; j < 64; ++j)
        CHECK(rescored_to(causal, 0, 0, 0, 63, j) == static_cast<double>(bucket_of(j - 63, false, 32, 128)));
    CHECK(rescored_to(causal, 0, 0, 0, 3, 9) == 0);
}

TEST_CASE("buckets that no logarithm divides are refused", "[score]") {
    CHECK_THROWS_WITH(t5_buckets(32, 16, 64),
                      "t5_buckets: there are 32 buckets up to a distance of 16: it takes 2 or more, and a distance "
                      "above half of them");
    CHECK_THROWS_AS(t5_buckets(1, 128, 64), shape_error);
    CHECK_THROWS_AS(t5_buckets(-4, 128, 64), shape_error);
    for (index_t const buckets : {2, 3, 7, 32})
        for (index_t const most : {buckets / 2 + 1, buckets, 10 * buckets})
            for (int const b : t5_buckets(buckets, most, 200)) CHECK((b >= 0 && b < buckets));
}
