// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native change
// Keys that come piece by piece give what all of them together give.
#include <fovea/fovea.hpp>
#include <fovea/parts/chunked.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <cmath>
#include <vector>

using namespace fovea;

namespace {

struct sequence_in_pieces {
    static constexpr index_t longest = 48;
    testing::dice random{17};
    tensor<float, 4> q = testing::random_tensor<float>(random, extents_t<4>{2, 4, 133, 12});
    tensor<float, 4> k = testing::random_tensor<float>(random, extents_t<4>{2, 2, 133, 12});
    tensor<float, 4> v = testing::random_tensor<float>(random, extents_t<4>{2, 2, 133, 9});
    tensor<float, 4> whole{{2, 4, 133, 9}}, got{{2, 4, 133, 9}, 7};
    tensor<float, 3> sums{{2, 4, 133}}, got_sums{{2, 4, 133}, 7};

    template <class Spec>
    void check(Spec const& spec, std::vector<position_run> const& queries, std::vector<position_run> const& keys) {
        attend(spec, q, k, v, whole, lse(sums));
        using asked = decltype(lse(got_sums));
        driver::chunked_attention<float, arch::best, Spec, float, float, float, float, asked> attention(
            spec, {q.extents, k.extents, v.extents}, view<float const, 4>(q.view()), got.view(),
            std::tuple<asked>(lse(got_sums)), queries, longest);
        workspace scratch;
        scratch.prepare(2);
        for (auto const& run : keys)
            attention.take(threads(2), scratch, run.first, driver::rows_at(view<float const, 4>(k.view()), run),
                           driver::rows_at(view<float const, 4>(v.view()), run));
        attention.finish(threads(2), scratch);
        for (std::size_t i = 0; i < whole.elements.size(); ++i)
            CHECK(got.elements[i] == Approx(whole.elements[i]).margin(1e-5));
        for (std::size_t i = 0; i < sums.elements.size(); ++i)
            CHECK(got_sums.elements[i] == Approx(sums.elements[i]).margin(1e-5));
    }
};

}  // namespace

TEST_CASE("pieces of any length, of which some are empty or unseen", "[driver]") {
    std::vector<position_run> const queries{{0, 100, 0}, {100, 1, 100}, {101, 32, 101}};
    std::vector<position_run> const keys{{0, 48, 0}, {48, 0, 48}, {48, 1, 48}, {49, 47, 49}, {96, 37, 96}};
    auto const slopes = alibi_slopes(4);
    sequence_in_pieces().check(scaled_dot | alibi(slopes) | causal | softmax | weighted_sum, queries, keys);
    sequence_in_pieces().check(scaled_dot | causal | softmax_with_sink(slopes) | weighted_sum, queries, keys);
}

TEST_CASE("queries that see no key of any piece have a result of zeros", "[driver]") {
    sequence_in_pieces s;
    s.check(scaled_dot | where(placeholders::kv_idx + 130 <= placeholders::q_idx) | softmax | weighted_sum,
            {{0, 133, 0}}, {{0, 48, 0}, {48, 48, 48}, {96, 37, 96}});
    CHECK(s.got(0, 0, 0, 0) == 0);
    CHECK(std::isinf(s.got_sums(0, 0, 0)));
}
