// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few queries against many keys, which are met in place and shared out among threads.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>
#include <fovea/testing/tolerance.hpp>

#include "catch.hpp"
#include "support/architectures.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The result and its log-sum-exp hold against the definition, and have the same bits for any number of threads.
template <class Arch>
void check_few(auto const& spec, index_t queries, index_t group, index_t keys, index_t features) {
    CAPTURE(queries, group, keys, features);
    testing::dice random(23);
    auto const q = testing::random_tensor<float, 4>(random, {2, group, queries, features});
    auto const k = testing::random_tensor<float, 4>(random, {2, 1, keys, features});
    auto const v = testing::random_tensor<float, 4>(random, {2, 1, keys, features});
    tensor<float, 4> expected(q.extents), first(q.extents);
    tensor<float, 3> expected_lse({2, group, queries}), first_lse(expected_lse.extents);
    reference::attend(spec, q, k, v, expected, lse(expected_lse));
    workspace scratch;
    attend_on<Arch>(serial, scratch, spec, q, k, v, first, lse(first_lse));
    testing::check_close<float, float>("result", expected.elements, first.elements, {4e-6, 2e-5});
    testing::check_close<float, float>("lse", expected_lse.elements, first_lse.elements, {4e-6, 2e-5});
    for (int n : {2, 3, 16}) {
        tensor<float, 4> got(q.extents);
        tensor<float, 3> got_lse(expected_lse.extents);
        attend_on<Arch>(threads(n), scratch, spec, q, k, v, got, lse(got_lse));
        CHECK(got.elements == first.elements);
        CHECK(got_lse.elements == first_lse.elements);
    }
}

}  // namespace

TEST_CASE("few queries, many keys", "[driver]") {
    auto const plain = scaled_dot | softmax | weighted_sum;
    for (index_t queries : {1, 3}) check_few<arch::best>(plain, queries, 1, 9001, 40);
    check_few<arch::best>(plain, 2, 4, 8500, 64);
    check_few<arch::best>(plain, 9, 5, 8500, 16);
    on_emulated<arch::emulated<16>>([&](auto other) { check_few<decltype(other)>(plain, 2, 1, 1100, 8); });
    check_few<arch::best>(plain, 1, 1, 150000, 4);
}

TEST_CASE("few queries, many keys, each weight by itself", "[driver]") {
    testing::dice random(24);
    auto const query = testing::random_tensor<float, 4>(random, {1, 2, 1, 24});
    auto const key = testing::random_tensor<float, 4>(random, {1, 1, 9000, 24});
    tensor<float, 4> expected(query.extents), got(query.extents), threaded(query.extents);
    auto const spec = scaled_dot | weigh(sigmoid(score) / 9000) | weighted_sum;
    reference::attend(spec, query, key, key, expected);
    attend(spec, query, key, key, got);
    attend(threads(3), spec, query, key, key, threaded);
    testing::check_close<float, float>("result", expected.elements, got.elements, {4e-6, 2e-5});
    CHECK(threaded.elements == got.elements);
}

TEST_CASE("few queries, many keys, under a mask", "[driver]") {
    check_few<arch::best>(scaled_dot | causal_at_end | softmax | weighted_sum, 3, 2, 9000, 24);
    check_few<arch::best>(scaled_dot | where(kv_idx < 100) | softmax | weighted_sum, 1, 2, 9000, 24);
    check_few<arch::best>(scaled_dot | where(kv_idx >= 8900) | softmax | weighted_sum, 1, 2, 9000, 24);
    check_few<arch::best>(scaled_dot | where(kv_idx < 0) | softmax | weighted_sum, 1, 2, 9000, 24);
}

TEST_CASE("few queries, many keys, other weights and scores", "[driver]") {
    check_few<arch::best>(scaled_dot | softmax_plus_one | weighted_sum, 1, 4, 9000, 24);
    check_few<arch::best>(cosine | softmax | weighted_sum, 1, 4, 9000, 24);
    check_few<arch::best>(compare(sum(q * square(k)) - 1) | softmax | weighted_sum, 1, 4, 9000, 24);
}

TEST_CASE("queries of several heads fill the lanes that those of one would not", "[driver]") {
    testing::dice random(25);
    auto const slope = testing::random_tensor<float, 1>(random, {30});
    auto const score_of = scaled_dot | rescore(score + param(slope)[head] * 0.01f * (q_idx - kv_idx));
    for (index_t group : {5, 30}) {
        check_few<arch::best>(scaled_dot | causal_at_end | softmax | weighted_sum, 3, group, 300, 24);
        check_few<arch::best>(score_of | softmax | weighted_sum, 3, group, 300, 20);
        check_few<arch::best>(scaled_dot | rescore(score * (1 + head * 0.1f)) | softmax | weighted_sum, 2, group, 65,
                              9);
        check_few<arch::best>(scaled_dot | where((kv_idx + head) % 3 != q_idx % 2) | softmax | weighted_sum, 3, group,
                              130, 8);
        check_few<arch::best>(scaled_dot | where(kv_idx < head) | softmax | weighted_sum, 3, group, 70, 8);
        on_emulated<arch::emulated<16>>([&](auto other) {
            check_few<decltype(other)>(scaled_dot | causal_at_end | softmax | weighted_sum, 2, group, 40, 8);
        });
    }
}
