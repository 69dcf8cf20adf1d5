// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/normalize/uniform.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/testing/against_reference.hpp>
#include <fovea/testing/normalizer_laws.hpp>

#include "catch.hpp"
#include "support/fused.hpp"

using namespace fovea;

TEST_CASE("uniform keeps the laws of a normalizer", "[normalize]") { testing::check_normalizer_laws(uniform); }

TEST_CASE("uniform attention is what the definition says", "[normalize]") {
    check_fused<float>(dot | causal | uniform | weighted_sum);
}

TEST_CASE("a running mean is uniform attention under a causal mask", "[normalize]") {
    //! [example]
    tensor<float, 2> x({3, 1}), mean({3, 1});
    x.elements = {3, 5, 10};
    attend(dot | causal | uniform | weighted_sum, x, mean);
    // mean is {3, 4, 6}
    //! [example]
    CHECK(mean(0, 0) == Approx(3));
    CHECK(mean(1, 0) == Approx(4));
    CHECK(mean(2, 0) == Approx(6));
}
