// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Tables of queries and keys. Prefetches of a tile before it is read: rows at equal distances, each in lines of its
// own, and nothing else. Rows transposed for queries in lanes: every element where a plain loop puts it, and none
// beside.
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/fovea.hpp>
#include <fovea/kernel/transform.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"
#include "support/guarded.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

constexpr index_t rows = 4, keys = 64;

/// Four rows, and whether lines are asked for.
template <class Expression>
bool asks(Expression const& expression, index_t count = rows, index_t heads = 1) {
    std::array<kernel::row_coordinates, rows> coordinates;
    for (index_t r = 0; r < rows; ++r)
        coordinates[static_cast<std::size_t>(r)] = {0, r % heads, r / heads, rows, keys, 8};
    auto const lines = kernel::table_lines<float, arch::best>(as_expression(expression), coordinates.data(), count,
                                                              {.first = 0, .count = keys}, keys);
    return !lines.empty();
}

}  // namespace

TEST_CASE("a table of queries and keys is asked for", "[kernel]") {
    tensor<float, 2> const bias({rows, keys});
    tensor<bool, 2> const seen({rows, keys});
    CHECK(asks(param(bias)(q_idx, kv_idx)));
    CHECK(asks(tanh(param(bias)(q_idx, kv_idx))));
    CHECK(asks(param(seen)(q_idx, kv_idx) && q_idx >= kv_idx));
    std::vector<std::uint8_t> const bytes(rows * 64);
    CHECK(asks(param(packed_bits(bytes, {rows, keys}, {8 * 64, 1}))(q_idx, kv_idx)));
    tensor<float, 3> const of_head({2, rows, keys});
    CHECK(asks(param(of_head)(head, q_idx, kv_idx)));
}

TEST_CASE("what neighbours share is not asked for, nor what is not read along the keys", "[kernel]") {
    tensor<float, 2> const bias({rows, keys}), of_head({2, keys}), transposed({keys, rows});
    CHECK_FALSE(asks(q_idx >= kv_idx));
    CHECK_FALSE(asks(param(of_head)(head, kv_idx)));
    CHECK_FALSE(asks(param(of_head)(head, kv_idx - q_idx + 3)));
    CHECK_FALSE(asks(param(transposed)(kv_idx, q_idx)));
    CHECK_FALSE(asks(param(bias)(q_idx, kv_idx), 1));
    std::vector<std::uint8_t> const bytes(rows * keys / 8);
    CHECK_FALSE(asks(param(packed_bits(bytes, {rows, keys}))(q_idx, kv_idx)));
}

TEST_CASE("rows of a table at unequal distances are not asked for", "[kernel]") {
    tensor<float, 3> const of_head({3, rows, keys});
    CHECK_FALSE(asks(param(of_head)(head, q_idx, kv_idx), rows, 3));
}

namespace {

/// Every run of up to a pack and a half of keys, some of them outside of the table, of rows that end, or begin, at a
/// wall.
template <class T, class Arch, class Element>
void check_transposed(index_t stride) {
    constexpr index_t lanes = kernel::pack<T, Arch>::lanes, width = lanes + lanes / 2 + 3;
    for (auto wall : {guarded<Element>::wall::behind, guarded<Element>::wall::before}) {
        guarded<Element> const table(lanes * width, Element{}, wall);
        for (index_t i = 0; i < table.size(); ++i) table[i] = static_cast<Element>(static_cast<float>(i * 7 % 120));
        kernel::rows_in_lanes<T, Arch, Element> from{{}, width, stride};
        for (index_t i = 0; i < lanes; ++i)
            from.first[static_cast<std::size_t>(i)] = table.data() + (lanes - 1 - i) * width;
        for (index_t first = 0; first < width + 2; ++first)
            for (index_t count = 1; count <= lanes + lanes / 2 && first + count <= width + 2; ++count) {
                guarded<T> const got(count * lanes);
                kernel::transpose_keys(from, first, count, got.data());
                index_t wrong = 0;
                for (index_t k = 0; k < count; ++k)
                    for (index_t i = 0; i < lanes; ++i) {
                        index_t const key = std::min(first + k, width - 1);
                        Element const element = table[(lanes - 1 - i) * width + key * stride];
                        T expected = static_cast<T>(element);
                        if constexpr (std::is_integral_v<Element> && !std::is_same_v<Element, bool>) {
                            auto const bits = static_cast<kernel::integer_like<T>>(element);
                            std::memcpy(&expected, &bits, sizeof expected);
                        }
                        wrong += std::memcmp(&expected, &got[k * lanes + i], sizeof expected) != 0;
                    }
                CAPTURE(stride, first, count);
                CHECK(wrong == 0);
            }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows of a table are transposed", "[kernel]", lane_widths) {
    for (index_t stride : {1, 0}) {
        check_transposed<float, TestType, float>(stride);
        check_transposed<float, TestType, float16>(stride);
        check_transposed<float, TestType, bfloat16>(stride);
        check_transposed<float, TestType, double>(stride);
        check_transposed<float, TestType, bool>(stride);
        check_transposed<float, TestType, std::uint8_t>(stride);
        check_transposed<float, TestType, std::int32_t>(stride);
        check_transposed<float, TestType, std::int64_t>(stride);
        check_transposed<double, TestType, double>(stride);
        check_transposed<double, TestType, float>(stride);
        check_transposed<double, TestType, std::int64_t>(stride);
    }
}
