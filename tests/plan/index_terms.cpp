// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which parts of an expression are computed once for each query, or each key.
#include <fovea/core/tensor.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/plan/one_sided.hpp>

#include "catch.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

template <class E>
constexpr index_t queries_of(E const& e) {
    return plan::count_of<decltype(plan::take_index_terms(score, e).queries)>;
}
template <class E>
constexpr index_t keys_of(E const& e) {
    return plan::count_of<decltype(plan::take_index_terms(score, e).keys)>;
}

}  // namespace

TEST_CASE("integers of one index that take a division are terms", "[plan]") {
    auto const same_block = q_idx / 32 == kv_idx / 32;
    CHECK((queries_of(same_block) == 1 && keys_of(same_block) == 1));
    auto const whole_side = max(q_idx % 8 - 3, 0) <= kv_idx && kv_idx % 4 == 0;
    CHECK((queries_of(whole_side) == 1 && keys_of(whole_side) == 1));
    auto const of_heads = (q_idx + head) / 4 < kv_idx;
    CHECK((queries_of(of_heads) == 1 && keys_of(of_heads) == 0));
}

TEST_CASE("what takes none, or both indices, is none", "[plan]") {
    auto const distance = kv_idx - q_idx < 5;
    CHECK((queries_of(distance) == 0 && keys_of(distance) == 0));
    auto const both = (kv_idx - q_idx) % 4 == 0;
    CHECK((queries_of(both) == 0 && keys_of(both) == 0));
    auto const key_and_head = (kv_idx + head) % 4 == 0;
    CHECK((queries_of(key_and_head) == 0 && keys_of(key_and_head) == 0));
    auto const of_edges = edge / 2 == 0;
    CHECK((queries_of(of_edges) == 0 && keys_of(of_edges) == 0));
    auto const of_lengths = kv_len / 2 < kv_idx;
    CHECK((queries_of(of_lengths) == 0 && keys_of(of_lengths) == 0));
}

TEST_CASE("integers that a table has for one index are terms, with what is computed of them", "[plan]") {
    tensor<int, 2> const table({20, 3}, 1);
    tensor<std::int8_t, 1> const short_ids({20}, 1);
    tensor<bool, 1> const shown({20}, true);
    auto const ids = param(table);
    auto const same = ids(q_idx, 0) == ids(kv_idx, 0);
    CHECK((queries_of(same) == 1 && keys_of(same) == 1));
    auto const sums = ids(q_idx, 0) + 2 * ids(q_idx, 1) == param(short_ids)[kv_idx] + kv_idx;
    CHECK((queries_of(sums) == 1 && keys_of(sums) == 1));
    auto const as_index = param(table)(q_idx - kv_idx, param(short_ids)[kv_idx]) < 3;
    CHECK((queries_of(as_index) == 0 && keys_of(as_index) == 1));
    auto const of_heads_and_keys = ids(kv_idx, head) == 1;
    CHECK((queries_of(of_heads_and_keys) == 0 && keys_of(of_heads_and_keys) == 0));
    auto const of_conditions = param(shown)[kv_idx] && ids(batch, 0) < 2;
    CHECK((queries_of(of_conditions) == 0 && keys_of(of_conditions) == 0));
}
