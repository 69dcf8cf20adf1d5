// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/tensor.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/mask/causal.hpp>
#include <fovea/mask/causal_at_end.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/dot.hpp>
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

TEST_CASE("the last query sees all keys", "[mask]") {
    //! [example]
    tensor<float, 2> const newest({2, 1}, 1), cached({5, 1}, 1);
    tensor<float, 2> result({2, 1}), w({2, 5});
    attend(dot | causal_at_end | softmax | weighted_sum, newest, cached, cached, result, weights(w));
    // the first of the two newest positions does not see the second
    //! [example]
    CHECK(w(0, 3) == Approx(0.25));
    CHECK(w(0, 4) == 0);
    CHECK(w(1, 4) == Approx(0.2));
}
