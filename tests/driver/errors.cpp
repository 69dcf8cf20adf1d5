// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: native
// Errors are said before anything is written; what user code throws comes out.
#include <fovea/fovea.hpp>
#include <fovea/testing/random.hpp>

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace fovea;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr auto plain = scaled_dot | softmax | weighted_sum;

struct call {
    testing::dice random{31};
    tensor<float, 2> q = testing::random_tensor<float>(random, std::array<index_t, 2>{300, 6});
    tensor<float, 2> k = testing::random_tensor<float>(random, std::array<index_t, 2>{40, 6});
    tensor<float, 2> v = testing::random_tensor<float>(random, std::array<index_t, 2>{40, 5});
    tensor<float, 2> out{{300, 5}, 7};
    tensor<float, 1> sums{{300}, 7};

    bool is_untouched() const {
        auto const seven = [](float x) { return x == 7; };
        return std::all_of(out.begin(), out.end(), seven) && std::all_of(sums.begin(), sums.end(), seven);
    }
};

/// Throws at rows that hold a score of exactly 1000.
struct picky_t : stage<role::normalizer> {
    template <class Row>
    static void normalize(Row const& row) {
        for (index_t i = 0; i < row.size(); ++i) {
            if (row[i] == 1000) throw std::domain_error("a score of 1000");
            row[i] = 0;
        }
    }
};

}  // namespace

TEST_CASE("shapes that do not fit are named, and nothing is written", "[driver]") {
    call c;
    tensor<float, 2> const wide({40, 8}), few({39, 5});
    CHECK_THROWS_WITH(attend(plain, c.q, wide, c.v, c.out),
                      "the score compares query and key feature by feature: query has 6 features, key has 8");
    CHECK_THROWS_WITH(attend(plain, c.q, c.k, few, c.out), "value has 39 positions, key has 40");
    CHECK_THROWS_AS(attend(plain, c.q, c.k, c.v, c.q), shape_error);
    CHECK_THROWS_AS(attend(threads(3), plain, c.q, c.k, wide, c.out, lse(c.sums)), shape_error);
    CHECK_THROWS_WITH(attend(plain, c.q, c.k, c.v, c.out, lse(view<float, 1>(c.sums.data(), {299}))),
                      ContainsSubstring("lse is (299)"));
    CHECK(c.is_untouched());
}

TEST_CASE("a table that is too short is named, and nothing is written", "[driver]") {
    using namespace placeholders;
    call c;
    std::vector<float> const bias(39), longer(40);
    auto const biased = [](auto const& table) {
        return scaled_dot | rescore(score + param(table)[kv_idx]) | softmax | weighted_sum;
    };
    CHECK_THROWS_WITH(attend(biased(bias), c.q, c.k, c.v, c.out, lse(c.sums)),
                      ContainsSubstring("a table of extents (39) is read at 39 along axis 0"));
    CHECK(c.is_untouched());
    CHECK_NOTHROW(attend(biased(longer), c.q, c.k, c.v, c.out, lse(c.sums)));
}

TEST_CASE("a call throws where the definition does, whatever is NaN", "[driver]") {
    using namespace placeholders;
    testing::dice from(5);
    float const nan = std::numeric_limits<float>::quiet_NaN();
    bool accepted = false, refused = false;
    for (index_t const length : {1, 3, 16, 17, 40, 130})
        for (int trial = 0; trial < 6; ++trial) {
            auto const n = static_cast<std::size_t>(length);
            auto const x = testing::random_tensor<float>(from, std::array<index_t, 2>{length, 6});
            std::vector<float> gaps(n), numbers(n - n / 4, 1.f);
            for (auto& g : gaps) g = from.between(0, 1 + trial) == 0 ? nan : static_cast<float>(from.between(-2, 2));
            std::vector<graph::edge> edges;
            for (index_t e = 0; e < 2 * length; ++e)
                edges.push_back({from.between(0, length - 1), from.between(0, length - 1)});
            graph const g(length, edges);
            auto const gap = param(gaps);
            auto const read = param(numbers)[kv_idx];
            auto const agree = [&](auto const& spec) {
                auto const throws = [&](auto const& run) {
                    tensor<float, 2> result({length, 6}, 7);
                    try {
                        run(result.view());
                    } catch (shape_error const&) {
                        return true;
                    }
                    return false;
                };
                INFO(text(spec) << " of " << length << " keys, trial " << trial);
                bool const expected = throws([&](auto out) { reference::attend(spec, x, x, x, out); });
                CHECK(throws([&](auto out) { attend(spec, x, x, x, out); }) == expected);
                (expected ? refused : accepted) = true;
            };
            auto const chosen = select(gap[kv_idx] < gap[q_idx], read, 0.f);
            agree(scaled_dot | rescore(score + chosen) | softmax | weighted_sum);
            agree(scaled_dot | rescore(score + read) | where(gap[kv_idx] == gap[kv_idx]) | softmax | weighted_sum);
            agree(scaled_dot | rescore(score + chosen) | neighbors(g) | softmax | weighted_sum);
            agree(compare(sum(q * k) * select(gap[kv_idx] >= 0.f, 0.f, read)) | causal | softmax | weighted_sum);
            agree(compare(sum(q * (k * select(gap[kv_idx] >= 0.f, read, 0.f)))) | causal | unnormalized
                  | running_state);
        }
    CHECK(accepted);
    CHECK(refused);
}

TEST_CASE("a result over its own operand is refused", "[driver]") {
    call c;
    auto const before = c.k.elements;
    CHECK_THROWS_WITH(attend(plain, c.k, c.k, c.k, c.k), ContainsSubstring("result overlaps query in memory"));
    CHECK(c.k.elements == before);
}

TEST_CASE("graphs that do not fit are named, and nothing is written", "[driver]") {
    call c;
    std::vector<index_t> offsets(301, 0);
    offsets.back() = 1;
    std::vector<std::int32_t> const beyond{40};
    CHECK_THROWS_AS(
        attend(scaled_dot | neighbors(graph_view{offsets, beyond}) | softmax | weighted_sum, c.q, c.k, c.v, c.out),
        graph_error);
    std::vector<std::int32_t> const listed{0};
    std::vector<index_t> const short_offsets{0, 1};
    CHECK_THROWS_WITH(attend(scaled_dot | neighbors(graph_view{short_offsets, listed}) | softmax | weighted_sum, c.q,
                             c.k, c.v, c.out),
                      "graph: it has rows for 1 query, the attention has 300");
    CHECK(c.is_untouched());
}

TEST_CASE("what a user's word throws comes out of all threads", "[driver]") {
    call c;
    auto const spec = dot | picky_t{} | weighted_sum;
    for (auto& x : c.k) x = 10;
    for (index_t i : {3, 150, 299})
        for (index_t f = 0; f < 6; ++f) c.q(i, f) = f == 0 ? 100.f : 0.f;
    workspace scratch;
    CHECK_THROWS_WITH(attend(scratch, spec, c.q, c.k, c.v, c.out), "a score of 1000");
    CHECK_THROWS_AS(attend(threads(4), scratch, spec, c.q, c.k, c.v, c.out), std::domain_error);
    CHECK_NOTHROW(attend(threads(4), scratch, plain, c.q, c.k, c.v, c.out));
}

TEST_CASE("calls at the same time do not know of one another", "[driver]") {
    call c;
    attend(plain, c.q, c.k, c.v, c.out);
    std::vector<tensor<float, 2>> results(4, tensor<float, 2>({300, 5}));
    std::vector<std::jthread> callers;
    for (auto& result : results)
        callers.emplace_back([&c, &result] { attend(threads(2), plain, c.q, c.k, c.v, result); });
    callers.clear();
    for (auto const& result : results) CHECK(result.elements == c.out.elements);
}
