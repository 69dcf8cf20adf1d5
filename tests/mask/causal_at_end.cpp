// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/mask/causal.hpp>
#include <fovea/mask/causal_at_end.hpp>
#include <fovea/testing/mask_laws.hpp>

#include "catch.hpp"

using namespace fovea;

namespace {
bool sees(index_t query, index_t key, index_t queries, index_t keys) {
    return evaluate(causal_at_end.predicate(),
                    reference::index_environment<double>{{}, 0, 0, query, key, queries, keys, 8});
}
}  // namespace

TEST_CASE("causal_at_end aligns the last query with the last key", "[mask]") {
    testing::check_mask_laws(causal_at_end);
    CHECK(sees(0, 99, 1, 100));  // decoding: the newest query sees the whole cache
    CHECK(sees(0, 7, 3, 10));
    CHECK_FALSE(sees(0, 8, 3, 10));
    CHECK(sees(2, 9, 3, 10));
}

TEST_CASE("with more queries than keys the first queries see nothing", "[mask]") {
    testing::check_mask_laws(causal_at_end, testing::lengths{20, 6, 1, 1});
    CHECK_FALSE(sees(1, 0, 5, 3));
    CHECK(sees(2, 0, 5, 3));
}

TEST_CASE("with as many queries as keys it is causal", "[mask]") {
    testing::detail::check_same_condition("causal_at_end = causal", causal_at_end.predicate(), causal.predicate(),
                                          testing::lengths{13, 13, 2, 1});
}
