// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is prefetched beside other work: each line of each row once, in as many steps as were asked for.
#include <fovea/driver/prefetch.hpp>

#include "catch.hpp"

#include <vector>

using namespace fovea;

namespace {
/// The steps after which nothing is left.
index_t steps_until_empty(kernel::prefetch_queue queue) {
    index_t steps = 0;
    for (; !queue.empty(); ++steps) queue.prefetch_at<arch::best>(steps);
    return steps;
}
}  // namespace

TEST_CASE("a queue has one line for so many steps of a microkernel", "[driver]") {
    std::vector<char> const memory(1 << 16);
    for (index_t rows : {1, 3, 16})
        for (index_t bytes : {1, 64, 65, 200})
            for (index_t steps : {1, 2, 5, 16}) {
                index_t const lines = rows * ((bytes + 63) / 64);
                driver::stored_rows const stored{memory.data(), 0, 0, 256, bytes};
                auto const queue = driver::lines_of(stored, {0, 0, 2, 2 + rows}, steps);
                index_t power = 1;
                while (2 * power <= steps) power *= 2;
                CHECK(steps_until_empty(queue) == (lines - 1) * power + 1);
                auto beside = queue;
                index_t calls = 0;
                for (; !beside.empty(); ++calls) beside.prefetch_beside<arch::best>(4 * power);
                CHECK(calls == (lines + 4) / 5);  // a line for each of its steps, and the one that begins
            }
}

TEST_CASE("a queue of no rows, or of rows that are in pages, is empty", "[driver]") {
    CHECK(kernel::prefetch_queue().empty());
    CHECK(driver::lines_of({}, {0, 0, 0, 5}).empty());
    CHECK(driver::lines_of({nullptr, 0, 0, 64, 64}, {0, 0, 3, 3}).empty());
}

TEST_CASE("after the last row of a head group follows the first of the next", "[driver]") {
    index_t visited = 0;
    for (driver::group_row at{0, 0, 0}; at.batch < 3; ++visited) {
        CHECK((at.row < 4 && at.head_group < 5));
        ++at.row;
        at = driver::row_after(at, 4, 5);
    }
    CHECK(visited == 3 * 5 * 4);
}
