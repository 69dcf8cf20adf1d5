// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: each_set
// Prefetches of a tile from a table before it is read: rows at equal distances, each in lines of its own, and nothing
// else.
#include <fovea/driver/dense/key_lanes_scores.hpp>
#include <fovea/fovea.hpp>

#include "catch.hpp"

#include <array>
#include <cstdint>
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
