// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is prefetched beside other work: each line of each row once, in as many steps as were asked for.
#include <fovea/core/paged.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/row_runs.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

namespace {
index_t count_lines(kernel::prefetch_queue queue) {
    index_t lines = 0;
    for (; !queue.empty(); ++lines) queue.prefetch_line<arch::best>();
    return lines;
}
}  // namespace

TEST_CASE("a queue has one line for so many steps of a microkernel", "[driver]") {
    std::vector<char> const memory(1 << 16);
    for (index_t rows : {1, 3, 16})
        for (index_t bytes : {1, 64, 65, 200})
            for (index_t steps : {1, 2, 5, 16}) {
                index_t const lines = rows * ((bytes + 63) / 64);
                driver::stored_rows const stored{memory.data(), 0, 0, 256, bytes};
                auto const queue = driver::row_lines(stored, {0, 0, 2, 2 + rows}, steps).queue();
                CHECK(count_lines(queue) == lines);
                CHECK(queue.steps_per_line() == steps);
            }
}

TEST_CASE("a queue of no rows, or of rows without features, is empty", "[driver]") {
    CHECK(kernel::prefetch_queue().empty());
    CHECK(driver::row_lines().queue().empty());
    driver::stored_rows const none, some{nullptr, 0, 0, 64, 64};
    CHECK(driver::row_lines(none, {0, 0, 0, 5}).queue().empty());
    CHECK(driver::row_lines(some, {0, 0, 3, 3}).queue().empty());
}

TEST_CASE("rows in pages are read, and prefetched, a page at a time", "[driver]") {
    for (index_t slots : {1, 3, 16, 40, 100}) {
        index_t const count = 2, positions = slots * count;
        tensor<float, 4> const pages({count, 1, slots, 32});
        tensor<std::int32_t, 2> table({1, count});
        table(0, 0) = 1;
        auto const rows = paged(pages, table);
        auto const stored = driver::rows_of(rows);
        auto const first = [&](index_t n) { return rows.place(0, 0, n, 0); };
        index_t read = 0, runs = 0;
        driver::for_runs(rows, {0, 0, 1, positions}, [&](auto const& run, index_t offset) {
            CHECK(offset == read);
            for (index_t r = 0; r < run.count; ++r) CHECK(run.first + r * run.stride == first(1 + read + r));
            read += run.count;
            ++runs;
        });
        CHECK(read == positions - 1);
        CHECK(runs >= (slots > 1 ? 2 : 1));
        driver::row_lines lines(stored, {0, 0, 0, positions}, 1);
        index_t steps = 0;
        for (; !lines.queue().empty(); ++steps) lines.queue().prefetch_line<arch::best>();
        CHECK(steps == positions * 2);  // of 128 bytes, two lines
    }
}

TEST_CASE("rows in pages are listed for microkernels, with those that are prefetched beside them", "[driver]") {
    for (index_t slots : {1, 7, 16, 64, 300})
        for (index_t features : {1, 15, 16, 17, 32}) {
            index_t const count = 700 / slots + 1, positions = slots * count;
            tensor<float, 4> const pages({count, 1, slots, features});
            tensor<std::int32_t, 2> table({1, count});
            for (index_t n = 0; n < count; ++n) table(0, n) = static_cast<std::int32_t>(count - 1 - n);
            auto const rows = paged(pages, table);
            auto const place = [&](index_t n) { return rows.place(0, 0, std::min(n, positions - 1), 0); };
            for (index_t first : {0, 5}) {
                index_t read = first;
                driver::for_rows_in_place(rows, {0, 0, first, positions}, static_cast<float*>(nullptr),
                                          [&](auto const& listed, index_t offset, index_t present) {
                                              CHECK(first + offset == read);
                                              CHECK(listed.ahead == kernel::rows_ahead(4 * features));
                                              CHECK(listed.ahead <= kernel::most_rows_ahead);
                                              bool same = true;
                                              for (index_t r = 0; r < present; ++r)
                                                  same = same && listed.row(r) == place(read + r)
                                                      && listed.after(r) == place(read + r + listed.ahead)
                                                      && listed.from(r, 8).row(0) == place(read + r) + 8
                                                      && listed.row(r) + listed.distance(r) == listed.after(r);
                                              CHECK(same);
                                              read += present;
                                          });
                CHECK(read == positions);
            }
        }
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
