// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spans of a run: adjacent panels that are masked, or not, alike; and how tasks are shared out.
#include <fovea/driver/dense/key_run.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <algorithm>

using namespace fovea;

TEST_CASE("spans cover a run once, each masked alike, and are as long as they can be", "[driver]") {
    using shape = made::small_blocks<true, 3>;
    testing::dice random(3);
    for (int trial = 0; trial < 500; ++trial) {
        bool mixed[shape::panels];
        std::generate_n(mixed, shape::panels, [&] { return random.chance(0.5); });
        constexpr index_t granules = shape::panels * shape::granules_per_panel;
        index_t const first = random.between(0, granules - 1), last = random.between(first + 1, granules);
        driver::key_run<shape> const run{0, {first, last}, mixed};
        index_t after = first, masked_panels = 0;
        bool right = true, any = false, masked_before = false;
        driver::for_spans(run, [&](index_t from, index_t count, bool masked) {
            right = right && from == after && count > 0 && (from == first || masked != masked_before);
            for (index_t g = from; g < from + count; ++g)
                right = right && mixed[g / shape::granules_per_panel] == masked;
            after = from + count;
            masked_before = masked;
            any = any || masked;
        });
        CHECK((right && after == last));
        CHECK(driver::any_mixed(run) == any);
        panel_count counted;
        driver::count_panels(counted, run);
        for (index_t p = run.granules.first_panel(); p < run.granules.last_panel(); ++p) masked_panels += mixed[p];
        CHECK(counted.mixed == masked_panels);
        CHECK(counted.full + counted.mixed == run.granules.last_panel() - run.granules.first_panel());
    }
}

TEST_CASE("there are tasks for all workers, and no more than blocks", "[driver]") {
    for (index_t workers : {1, 2, 7, 64})
        for (index_t heads : {1, 5, 100})
            for (index_t blocks : {0, 1, 3, 1000}) {
                index_t const shares = driver::shares(workers, heads, blocks);
                CHECK(shares >= 1);
                CHECK(shares <= std::max<index_t>(blocks, 1));
                if (workers == 1) CHECK(shares == 1);
                else CHECK((shares * heads >= 8 * workers || shares == std::max<index_t>(blocks, 1)));
            }
}
