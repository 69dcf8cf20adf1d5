// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_case.hpp"

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/mask/causal_at_end.hpp>
#include <fovea/mask/neighbors.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/result/scores.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/rescore.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("scores are what the definition says, after every stage", "[result]") {
    output_case subject;
    auto const capped = scaled_dot | rescore(3 * tanh(score / 3)) | causal_at_end | softmax | weighted_sum;
    extents_t<4> const pairs{2, 4, 19, 33};
    subject.check<float, 4>(capped, pairs, [](auto& t) { return scores(t); });
    subject.check<float, 4>(capped, pairs, [](auto& t) { return scores<score_stage::rescored>(t); });
    subject.check<float, 4>(capped, pairs, [](auto& t) { return scores<score_stage::raw>(t); });
}

TEST_CASE("stages differ by what stands between them", "[result]") {
    output_case subject;
    auto const doubled = scaled_dot | rescore(score * 2) | causal_at_end | softmax | weighted_sum;
    extents_t<4> const pairs{2, 4, 19, 33};
    auto const raw = subject.fused<float, 4>(doubled, pairs, [](auto& t) { return scores<score_stage::raw>(t); });
    auto const rescored =
        subject.fused<float, 4>(doubled, pairs, [](auto& t) { return scores<score_stage::rescored>(t); });
    auto const masked = subject.fused<float, 4>(doubled, pairs, [](auto& t) { return scores(t); });
    for (std::size_t i = 0; i < raw.elements.size(); ++i) {
        bool const visible = static_cast<index_t>(i % 33) <= static_cast<index_t>(i / 33 % 19) + 14;
        REQUIRE(rescored.elements[i] == Approx(2 * raw.elements[i]));
        REQUIRE(masked.elements[i] == (visible ? rescored.elements[i] : excluded<float>));
    }
}

TEST_CASE("scores are asked for beside the result", "[result]") {
    //! [example]
    tensor<float, 2> const query({1, 2}, 1), key({3, 2}, 2), value({3, 1}, 1);
    tensor<float, 2> result({1, 1}), products({1, 3});
    attend(dot | softmax | weighted_sum, query, key, value, result, scores(products));
    // every product is 1 * 2 + 1 * 2
    //! [example]
    CHECK(products.elements == std::vector<float>{4, 4, 4});
    CHECK(result(0, 0) == Approx(1));
}

TEST_CASE("pairs that a graph does not list are excluded", "[result]") {
    std::vector<graph::edge> const edges{{0, 2}, {2, 0}, {2, 1}};
    graph const g(3, edges);
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> result({3, 2}), products({3, 3});
    attend(dot | neighbors(g) | softmax | weighted_sum, x, result, scores(products));
    float const none = excluded<float>;
    CHECK(products.elements == std::vector<float>{none, none, 2, none, none, none, 2, 2, none});
}

TEST_CASE("a target of other extents is refused", "[result]") {
    tensor<float, 2> const x({3, 2}, 1);
    tensor<float, 2> result({3, 2}), small({3, 2});
    CHECK_THROWS_WITH(attend(dot | softmax | weighted_sum, x, result, scores(small)),
                      "scores are (3, 2) and must be (1, 1, 3, 3), (batch, head, query, key)");
}
