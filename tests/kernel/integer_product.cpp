// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Sums of products of integers, exact with respect to the rounded query, against plain loops.
#include <fovea/kernel/product/product.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// A block of any bytes, whose scales are small powers of 2.
template <class Block>
Block any_block(testing::dice& random) {
    Block block;
    unsigned char bytes[sizeof(Block)];
    for (auto& byte : bytes) byte = static_cast<unsigned char>(std::round(random.real(0, 255)));
    std::memcpy(&block, bytes, sizeof block);
    block.scale = float16(random.chance(0.5) ? 0.5f : 2.0f);
    if constexpr (requires { block.least; }) block.least = float16(random.chance(0.5) ? 0.25f : -4.0f);
    return block;
}

/// A row of queries in the layout of the product, and what it is.
template <class Arch, class Block>
void lay_out(std::vector<float> const& row, index_t rows, index_t r, float* to) {
    using product = kernel::integer_product<float, Arch, Block>;
    constexpr index_t lanes = kernel::pack<float, Arch>::lanes;
    kernel::index_environment<float, Arch, index_t> const base{{}, 0};
    product::for_packs(q, row.data(), base, 1.0f, static_cast<index_t>(row.size()),
                       [&](index_t n, auto const& value) { value.store(to + (n * rows + r) * lanes); });
}

/// Scores of rows and keys; `whole`: numbers of queries are integers times powers of 2, and everything is exact.
template <class Arch, class Block, int At_once>
void check_scores(index_t rows, index_t count, index_t blocks, bool whole) {
    constexpr index_t lanes = kernel::pack<float, Arch>::lanes;
    testing::dice random(static_cast<unsigned>(count * 10 + blocks));
    index_t const features = blocks * 32, stride = blocks + 1, room = round_up(count, lanes);
    guarded<Block> keys((count - 1) * stride + blocks);
    for (auto& block : keys) block = any_block<Block>(random);
    guarded<float> queries(blocks * kernel::rounded_query::packs<Arch> * rows * lanes), scores(rows * room);
    std::vector<std::vector<float>> numbers;
    for (index_t r = 0; r < rows; ++r) {
        std::vector<float> row(static_cast<std::size_t>(features));
        for (std::size_t f = 0; f < row.size(); ++f)
            row[f] = whole ? static_cast<float>(std::round(random.real(-127, 127))) / 64
                           : static_cast<float>(random.real(-2, 2));
        for (std::size_t f = 0; f < row.size() && whole; f += 32) row[f + 5] = 127.0f / 64;
        lay_out<Arch, Block>(row, rows, r, queries.data());
        numbers.push_back(row);
    }
    using key_rows = kernel::decoded_rows<kernel::even_rows<Block>>;
    kernel::blocks_in_place<Arch, key_rows> const from{{{keys.data(), stride}}};
    kernel::contract_rows<At_once, float, Arch>(from, {queries.data(), rows, count, features, scores.data(), room});
    guarded<float> listed(rows * room);
    std::vector<Block const*> at;
    for (index_t k = 0; k < count + 2; ++k) at.push_back(&keys[std::min(k, count - 1) * stride]);
    using listed_rows = kernel::decoded_rows<kernel::rows_by_address<Block>>;
    kernel::blocks_in_place<Arch, listed_rows> const by_address{{{at.data(), 0, 2}}};
    kernel::contract_rows<At_once, float, Arch>(by_address,
                                                {queries.data(), rows, count, features, listed.data(), room});
    CHECK(std::equal(listed.begin(), listed.end(), scores.begin()));
    for (index_t r = 0; r < rows; ++r)
        for (index_t k = 0; k < count; ++k) {
            double expected = 0, allowed = 0;
            for (index_t b = 0; b < blocks; ++b) {
                double greatest = 0, sizes = 0;
                for (index_t i = 0; i < 32; ++i) {
                    double const x = static_cast<double>(
                                     numbers[static_cast<std::size_t>(r)][static_cast<std::size_t>(b * 32 + i)]),
                                 y = static_cast<double>(keys[k * stride + b].number(i));
                    expected += x * y;
                    greatest = std::max(greatest, std::abs(x));
                    sizes += std::abs(y);
                }
                allowed += sizes * greatest / 254 * (1 + 1e-3);
            }
            double const error = std::abs(static_cast<double>(scores[r * room + k]) - expected);
            CHECK(error <= (whole ? 0 : allowed));
        }
}

template <class Arch, class Block>
void check_blocks() {
    for (bool whole : {true, false})
        for (index_t blocks : {1, 2, 3, 4})
            for (index_t count : {1, 2, 7, 16, 17, 33}) {
                check_scores<Arch, Block, 1>(1, count, blocks, whole);
                check_scores<Arch, Block, 4>(8, count, blocks, whole);
            }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("scores of rounded queries are exact sums of integers", "[kernel]", lane_widths) {
    check_blocks<TestType, q8_0>();
    check_blocks<TestType, q4_0>();
    check_blocks<TestType, q4_1>();
}

TEST_CASE("a query that is not finite, or too small to be rounded", "[kernel]") {
    using Arch = arch::best;
    float const infinity = std::numeric_limits<float>::infinity();
    for (float x : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 1e-39f, -1e-44f, 0.0f}) {
        std::vector<float> row(32);
        row[3] = x;
        alignas(64) float laid[64] = {};
        lay_out<Arch, q8_0>(row, 1, 0, laid);
        q8_0 const ones = [] {
            q8_0 block{};
            block.scale = float16(1);
            std::fill_n(block.integers, 32, std::int8_t{1});
            return block;
        }();
        float sums[64];
        kernel::blocks_in_place<Arch, kernel::decoded_rows<kernel::even_rows<q8_0>>> const from{{{&ones, 1}}};
        kernel::contract_rows<1, float, Arch>(from, {laid, 1, 1, 32, sums, 64});
        if (std::isnan(x)) CHECK(std::isnan(sums[0]));
        else if (std::isinf(x)) CHECK(sums[0] == x);
        else CHECK(std::abs(sums[0]) < 1e-36f);
    }
}
