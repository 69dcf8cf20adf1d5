// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sizes of calls: those that are checked and those that are timed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace calls {

/// The layout of the operands of a kernel, whatever their sizes.
struct traits {
    bool grouped = false;       // several query heads share keys and values
    bool paged = false;         // keys and values lie in pages
    bool over_edges = false;    // of a graph; heads lie side by side, as a projection leaves them
    bool one_operand = false;   // query, key and value are the same rows
};
traits traits_of(std::string_view kernel);

struct sizes {
    std::int64_t batches = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, features = 1, value_features = 1;
    std::int64_t slots = 1;   // positions of a page
    std::int64_t degree = 1;  // edges of a node, on average

    std::int64_t pages() const { return (keys + slots - 1) / slots; }
};

/// Sizes that are multiples of nothing, with several sequences.
std::vector<sizes> checked_sizes(std::string_view kernel);

/// Dense kernels: 8 heads, 512 positions, 64 features. Decode: one query of 32 heads that share 8, 4096 keys, 128
/// features. Graphs: 20000 nodes, 8 edges each, 8 heads of 8 features.
sizes timed_sizes(std::string_view kernel);

}  // namespace calls
