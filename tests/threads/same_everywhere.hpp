// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <array>
#include <cstring>
#include <vector>

/// Runs call(executor, workspace, result) alone and with several numbers of threads, one workspace for all: the same
/// bits each time. What races is seen by the thread sanitizer.
template <class Call>
void check_same_bits(fovea::extents_t<4> const& extents, Call const& call) {
    fovea::tensor<float, 4> expected(extents);
    fovea::workspace alone, scratch;
    call(fovea::serial, alone, expected);
    for (int const n : {1, 2, 3, 8}) {
        CAPTURE(n);
        fovea::tensor<float, 4> result(extents, 7);
        call(fovea::threads(n), scratch, result);
        auto const bytes = static_cast<std::size_t>(result.size()) * sizeof(float);
        CHECK(std::memcmp(result.data(), expected.data(), bytes) == 0);
    }
}

/// Operands of a call: (batch, head, position, feature).
struct random_operands {
    fovea::testing::dice random{29};
    fovea::tensor<float, 4> q, k, v;
    fovea::extents_t<4> result;

    random_operands(fovea::extents_t<4> const& queries, fovea::index_t key_heads, fovea::index_t keys)
        : q(fovea::testing::random_tensor<float>(random, queries)),
          k(fovea::testing::random_tensor<float>(random, fovea::extents_t<4>{queries[0], key_heads, keys, queries[3]})),
          v(fovea::testing::random_tensor<float>(random, fovea::extents_t<4>{queries[0], key_heads, keys, 10})),
          result{queries[0], queries[1], queries[2], 10} {}
};
