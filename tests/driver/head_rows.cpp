// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The keys and values of a head block by block: read in place, or made a block at a time and kept where they are used
// again.
#include <fovea/driver/dense/head_rows.hpp>

#include "catch.hpp"
#include "support/made_call.hpp"

#include <vector>

using namespace fovea;

namespace {

using in_lanes = plan::query_lanes_blocking<float, arch::best>;
using keys_in_lanes = plan::key_lanes_blocking<float, arch::best>;

/// Which blocks were copied, in order, and of which it was asked whether they are finite.
std::vector<index_t> copied, asked;

/// Values whose copies are twice what is stored; those of block 1 are said not to be finite.
template <class Shape>
driver::sums_functions<Shape> const functions{
    .state_bytes = 0,
    .loads_values = false,
    .begin = nullptr,
    .copy =
        [](driver::attention_call<Shape> const& of, driver::head_values<Shape> const& values, index_t block) {
            copied.push_back(block);
            auto const at = values.range(block);
            for (index_t k = at.first; k < at.last; ++k)
                for (index_t c = 0; c < of.value_features; ++c)
                    values.copy(k)[c] = 2 * reinterpret_cast<float const*>(of.value.place(at.batch, at.head, k))[c];
        },
    .all_finite =
        [](driver::attention_call<Shape> const&, row_range const& at) {
            asked.push_back(at.first / Shape::block_keys);
            return at.first != Shape::block_keys;
        },
    .fold = nullptr,
    .add = nullptr,
    .add_visible = nullptr,
    .finish = nullptr};
template <class Shape>
driver::score_functions<Shape> const no_scores{};

template <class Shape>
struct values_of_call {
    testing::dice random{2};
    made::arrays arrays;
    made::float_operands all = arrays.operands();
    plan::call_plan how{plan::traversal::query_lanes};
    driver::attention_call<Shape> call;

    values_of_call(index_t queries, index_t keys, index_t features, plan::reading reading)
        : arrays(random, queries, keys, 1, features),
          how{.by = plan::traversal::query_lanes, .keys = reading, .values = reading},
          call(how, all, nullptr, no_scores<Shape>, functions<Shape>) {
        copied.clear();
        asked.clear();
    }

    /// Reads all values, block by block, and holds them against `factor` times what is stored.
    void check_pass(driver::head_values<Shape>& values, float factor) const {
        bool right = true;
        driver::next_lines next;
        for (index_t b = 0; b < values.blocks(); ++b) {
            values.prepare(b, next);
            index_t const first = values.first(b), last = values.last(b);
            right = right && first == b * Shape::block_keys && last == std::min(first + Shape::block_keys, call.keys);
            for (index_t k = first; k < last; ++k)
                for (index_t c = 0; c < call.value_features; ++c)
                    right = right && values(k, last - k).first[c] == factor * arrays.value(0, 0, k, c);
        }
        CHECK(right);
    }
};

}  // namespace

TEST_CASE("rows of the type of the arithmetic are read where they are", "[driver]") {
    constexpr index_t block = in_lanes::block_keys;
    values_of_call<in_lanes> const of(1, 2 * block + 5, 5, plan::reading::in_place);
    arena memory;
    driver::head_values<in_lanes> values(of.call, memory, 1);
    values.begin({0, 0});
    auto const run = values(block + 4, 7);
    CHECK(run.first == &of.arrays.value(0, 0, block + 4, 0));
    CHECK((run.stride == 5 && run.count == 7));
    of.check_pass(values, 1);
    CHECK(copied.empty());
}

TEMPLATE_TEST_CASE("blocks that are used again are made once for a head", "[driver]", in_lanes, keys_in_lanes) {
    constexpr index_t blocks = 5;
    for (index_t features : {1, 5, 64}) {
        values_of_call<TestType> const of(TestType::block_rows + 1, blocks * TestType::block_keys - 3, features,
                                          plan::reading::copied);
        arena memory;
        driver::head_values<TestType> values(of.call, memory, blocks);
        values.begin({0, 0});
        of.check_pass(values, 2);
        of.check_pass(values, 2);
        CHECK(copied == std::vector<index_t>{0, 1, 2, 3, 4});
        values.begin({0, 0});  // another head
        of.check_pass(values, 2);
        CHECK(copied.size() == 2 * blocks);
    }
}

TEMPLATE_TEST_CASE("blocks that are used once share their memory", "[driver]", in_lanes, keys_in_lanes) {
    values_of_call<TestType> const of(TestType::rows, 3 * TestType::block_keys, 5, plan::reading::copied);
    arena memory;
    driver::head_values<TestType> values(of.call, memory, 1);
    values.begin({0, 0});
    of.check_pass(values, 2);
    of.check_pass(values, 2);
    CHECK(copied.size() == 6);
    CHECK(memory.wanted() <= TestType::block_keys * 16 * sizeof(float) + 192);
}

TEST_CASE("of blocks that do not all stay in the cache the first are kept", "[driver]") {
    constexpr index_t features = 128;
    constexpr index_t fit = (index_t{1} << 19) / (in_lanes::block_keys * features * index_t{sizeof(float)});
    values_of_call<in_lanes> const of(in_lanes::block_rows + 1, (fit + 3) * in_lanes::block_keys, features,
                                      plan::reading::copied);
    arena memory;
    driver::head_values<in_lanes> values(of.call, memory, 1);
    values.begin({0, 0});
    of.check_pass(values, 2);
    of.check_pass(values, 2);
    CHECK(copied.size() == 2 * (fit + 3) - (fit - 1));
    CHECK(memory.wanted() <= (std::size_t{1} << 19) + 4096);
}

TEST_CASE("blocks that a window moves over take turns", "[driver]") {
    values_of_call<keys_in_lanes> const of(1, 6 * keys_in_lanes::block_keys, 5, plan::reading::copied);
    arena memory;
    driver::head_values<keys_in_lanes> values(of.call, memory, 2);
    driver::next_lines next;
    values.begin({0, 0});
    for (index_t b : {0, 1, 1, 2, 2, 3, 3, 4, 4, 5}) values.prepare(b, next);
    CHECK(copied == std::vector<index_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("whether values are finite is looked at once for each block of a head", "[driver]") {
    values_of_call<in_lanes> const of(1, 3 * in_lanes::block_keys, 1, plan::reading::in_place);
    arena memory;
    driver::head_values<in_lanes> values(of.call, memory, 1);
    for (std::size_t head = 1; head <= 2; ++head) {
        values.begin({0, 0});
        for (int time = 0; time < 3; ++time)
            for (index_t b = 0; b < 3; ++b) CHECK(values.finite(b) == (b != 1));
        CHECK(asked.size() == 3 * head);
    }
}
