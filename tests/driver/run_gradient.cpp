// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: catalogue
// gradient is what the definition says, and that what differences say, for every specification of the catalogue that
// has one, on calls that are drawn.
#include <fovea/driver/dense/backward/factor_gradient.hpp>
#include <fovea/driver/dense/backward/gradient_rows.hpp>
#include <fovea/driver/graph/backward/listed_pass.hpp>
#include <fovea/driver/run_gradient.hpp>
#include <fovea/kernel/backward/body_gradient.hpp>

#include "catalogue/catalogue.hpp"
#include "catch.hpp"

TEMPLATE_TEST_CASE_SIG("gradient gives what the definition says", "[driver]", ((int Part), Part), 0, 1, 2, 3, 4, 5) {
    int n = 0, differences = 0;
    for (auto const& of : catalogue::all())
        for (auto const& computed : of.gradients)
            if (n++ % 6 == Part) differences += catalogue::try_gradient(of, computed);
    CHECK(n >= catalogue::at_least(45));
    CHECK(differences >= (n < 45 ? 0 : 10));
}
