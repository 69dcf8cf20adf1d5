// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same bits for any number of threads, in any company, and from any workspace.
#include <fovea/fovea.hpp>

#include "catch.hpp"
#include "support/random_graph.hpp"
#include "support/same_bits.hpp"

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Random operands for one call: (batch, head, position, feature).
struct call {
    testing::dice random{19};
    extents_t<4> queries{3, 4, 230, 24}, keys{3, 2, 310, 24}, values{3, 2, 310, 20}, rows{3, 4, 230, 20};
    tensor<float, 4> q = testing::random_tensor<float>(random, queries, 2);
    tensor<float, 4> k = testing::random_tensor<float>(random, keys, 2);
    tensor<float, 4> v = testing::random_tensor<float>(random, values);

    template <class Executor>
    std::vector<float> run(Executor const& executor, auto const& spec) const {
        tensor<float, 4> result(rows);
        workspace scratch;
        attend_on<arch::best>(executor, scratch, spec, q, k, v, result);
        return result.elements;
    }
    /// One batch element alone.
    std::vector<float> run_alone(auto const& spec, index_t batch) const {
        auto const only = [batch](tensor<float, 4> const& x) {
            return view<float const, 4>(&x(batch, 0, 0, 0), {1, x.extent(1), x.extent(2), x.extent(3)});
        };
        tensor<float, 4> result({1, rows[1], rows[2], rows[3]});
        attend(spec, only(q), only(k), only(v), result);
        return result.elements;
    }
};

void check(auto const& spec) {
    call const c;
    auto const expected = c.run(serial, spec);
    CHECK(same_bits(c.run(threads(1), spec), expected));
    CHECK(same_bits(c.run(threads(2), spec), expected));
    CHECK(same_bits(c.run(threads(5), spec), expected));
    CHECK(same_bits(c.run(threads(64), spec), expected));
    std::vector<float> together;
    for (index_t b = 0; b < 3; ++b) {
        auto const alone = c.run_alone(spec, b);
        together.insert(together.end(), alone.begin(), alone.end());
    }
    CHECK(same_bits(together, expected));
}

}  // namespace

TEST_CASE("threads and company do not change a bit", "[driver]") {
    check(scaled_dot | causal | softmax | weighted_sum);
}

TEST_CASE("threads and company do not change a bit of functions of a distance", "[driver]") {
    check(compare(-log(1 + squared_distance(q, k) / 8)) | causal | softmax | weighted_sum);
}

TEST_CASE("threads and company do not change a bit of graph attention", "[driver]") {
    auto const g = random_graph(230, 310, 4000);
    check(cosine | neighbors(g) | softmax | weighted_sum);
}

TEST_CASE("threads do not change a bit of projections and finishes", "[driver]") {
    testing::dice random(5);
    auto const x = testing::random_tensor<float>(random, std::array<index_t, 3>{2, 150, 21});
    auto const w = testing::random_tensor<float>(random, std::array<index_t, 2>{21, 24});
    auto const wo = testing::random_tensor<float>(random, std::array<index_t, 2>{24, 21});
    auto const spec =
        project(w, w, w, heads<4>) | scaled_dot | softmax | weighted_sum | map(elu(out)) | output(wo) | residual;
    tensor<float, 3> one({2, 150, 21}), five({2, 150, 21});
    attend(spec, x, one);
    attend(threads(5), spec, x, five);
    CHECK(same_bits(one.elements, five.elements));
}

TEST_CASE("asking for lse does not change the result, nor does a used workspace", "[driver]") {
    call const c;
    constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
    auto const expected = c.run(serial, spec);
    tensor<float, 4> result(c.rows);
    tensor<float, 3> sums({3, 4, 230});
    workspace scratch;
    attend(scratch, dot | softmax | weighted_sum, c.k, c.k, c.k, tensor<float, 4>(c.keys).view());
    attend(scratch, spec, c.q, c.k, c.v, result, lse(sums));
    CHECK(same_bits(result.elements, expected));
    result.elements.assign(result.elements.size(), 7);
    attend(threads(3), scratch, spec, c.q, c.k, c.v, result);
    CHECK(same_bits(result.elements, expected));
}
