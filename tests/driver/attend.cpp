// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: catalogue
// attend is what the definition says, for every specification of the catalogue, on calls that are drawn.
#include <fovea/driver/attend.hpp>
#include <fovea/driver/dense/dense_loop.hpp>
#include <fovea/driver/graph/listed_loop.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>

#include "catalogue/catalogue.hpp"
#include "catch.hpp"

TEMPLATE_TEST_CASE_SIG("attend gives what the definition says", "[driver]", ((int Part), Part), 0, 1, 2, 3, 4, 5) {
    int n = 0;
    for (auto const& of : catalogue::all())
        for (auto const& computed : of.engines)
            if (n++ % 6 == Part) catalogue::try_attend(of, computed);
    CHECK(n >= catalogue::at_least(50));
}
