// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specifications of kernels over sequences of different lengths.
#pragma once

#include <fovea/bindings/takes.hpp>
#include <fovea/fovea.hpp>

#include <cstdint>

namespace example_kernels {

using namespace fovea;

/// Documents packed one after another: ids says for each position which one it belongs to.
constexpr auto documents = takes<"ids(keys)">([](view<std::int32_t const, 1> ids) {
    return scaled_dot | document(ids) | causal | softmax | weighted_sum;
});

/// The next token of sequences whose keys and values lie in pages; positions from the length of a sequence on are not
/// read.
constexpr auto decode = takes<"lengths(batch)">([](view<std::int32_t const, 1> lengths) {
                            return scaled_dot | key_lengths(lengths) | softmax | weighted_sum;
                        }).over_pages();

}  // namespace example_kernels
