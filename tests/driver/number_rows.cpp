// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows in the type of the arithmetic: read in place, or converted a block at a time and kept where they are used again.
#include <fovea/driver/dense/finite_blocks.hpp>
#include <fovea/driver/dense/number_rows.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <vector>

using namespace fovea;

namespace {

/// Which blocks were converted, in order, by their first rows: twice the elements of the keys.
std::vector<index_t> converted;

struct keys_of_call {
    testing::dice random{2};
    made::arrays arrays;
    made::float_operands all = arrays.operands();
    plan::call_plan how{plan::traversal::query_lanes};
    driver::dense_rows call{how, all, nullptr};

    keys_of_call(index_t keys, index_t features) : arrays(random, 1, keys, features, 1) { converted.clear(); }

    static void convert(driver::dense_rows const& of, row_range const& at, float* to, index_t stride) {
        converted.push_back(at.first);
        for (index_t k = at.first; k < at.last; ++k) {
            auto const* const row = reinterpret_cast<float const*>(of.key.place(at.batch, at.head, k));
            for (index_t c = 0; c < of.features; ++c) to[(k - at.first) * stride + c] = 2 * row[c];
        }
    }
};

constexpr index_t block = 16;

/// Reads all keys, block by block, and holds them against `factor` times what is stored.
void check_pass(keys_of_call const& of, driver::number_rows<float>& rows, float factor) {
    bool right = true;
    for (index_t b = 0; b * block < of.call.keys; ++b) {
        row_range const at{0, 0, b * block, std::min((b + 1) * block, of.call.keys)};
        rows.prepare(b, at);
        for (index_t k = at.first; k < at.last; ++k)
            for (index_t c = 0; c < of.call.features; ++c)
                right = right && rows(k, at.last - k).first[c] == factor * of.arrays.key(0, 0, k, c);
    }
    CHECK(right);
}

}  // namespace

TEST_CASE("rows of the type of the arithmetic are read where they are", "[driver]") {
    keys_of_call const of(37, 5);
    driver::number_rows<float> rows(of.call, of.call.key, plan::reading::in_place, keys_of_call::convert, 5);
    arena memory;
    rows.take(memory, block, 37, true);
    rows.begin();
    rows.prepare(1, {0, 0, block, 2 * block});
    CHECK(rows(20, 7).first == &of.arrays.key(0, 0, 20, 0));
    CHECK(rows(20, 7).stride == 5);
    CHECK(rows(20, 7).count == 7);
    check_pass(of, rows, 1);
}

TEST_CASE("blocks that are used again are converted once for a head", "[driver]") {
    for (index_t features : {1, 5, 64}) {
        keys_of_call const of(100, features);
        driver::number_rows<float> rows(of.call, of.call.key, plan::reading::copied, keys_of_call::convert, features);

        arena memory;
        rows.take(memory, block, 100, true);
        rows.begin();
        check_pass(of, rows, 2);
        check_pass(of, rows, 2);
        CHECK(converted == std::vector<index_t>{0, 16, 32, 48, 64, 80, 96});
        rows.begin();  // another head
        check_pass(of, rows, 2);
        CHECK(converted.size() == 14);
    }
}

TEST_CASE("blocks that are used once share their memory", "[driver]") {
    keys_of_call const of(100, 5);
    driver::number_rows<float> rows(of.call, of.call.key, plan::reading::copied, keys_of_call::convert, 5);
    arena memory;
    rows.take(memory, block, 100, false);
    rows.begin();
    check_pass(of, rows, 2);
    check_pass(of, rows, 2);
    CHECK(converted.size() == 14);
    CHECK(memory.wanted() <= block * 16 * sizeof(float) + 64);
}

TEST_CASE("more blocks than are kept are converted again, and right", "[driver]") {
    keys_of_call const of(3000, 100);  // 1.3 MB
    driver::number_rows<float> rows(of.call, of.call.key, plan::reading::copied, keys_of_call::convert, 100);
    arena memory;
    rows.take(memory, block, 3000, true);
    rows.begin();
    check_pass(of, rows, 2);
    check_pass(of, rows, 2);
    CHECK(converted.size() > 188);
    CHECK(converted.size() < 2 * 188);
    CHECK(memory.wanted() <= (std::size_t{1} << 19) + 4096);
}

namespace {
int asked = 0;
struct asking_call : driver::dense_rows {
    struct {
        bool (*all_finite)(driver::dense_rows const&, row_range const&);
    } sums{[](driver::dense_rows const&, row_range const& at) {
        ++asked;
        return at.first != block;
    }};
};
}  // namespace

TEST_CASE("whether values are finite is looked at once for each block of a head", "[driver]") {
    keys_of_call const of(48, 1);
    asking_call const call{{of.call}};
    arena memory;
    driver::finite_blocks<asking_call> finite(call, memory, 3);
    asked = 0;
    for (int head = 1; head <= 2; ++head) {
        finite.begin();
        for (int time = 0; time < 3; ++time)
            for (index_t b = 0; b < 3; ++b) CHECK(finite(b, {0, 0, b * block, (b + 1) * block}) == (b != 1));
        CHECK(asked == 3 * head);
    }
}
