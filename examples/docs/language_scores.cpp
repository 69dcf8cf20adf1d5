// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores of docs/language.md: sums over features, and functions that are traced.
#include <fovea/fovea.hpp>

#include "docs/support.hpp"

#include <type_traits>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// The score of the pair.
template <class Spec>
float score_by(Spec const& spec) {
    operands n;
    attend(spec | softmax | weighted_sum, n.query, n.key, n.value, n.result, scores(n.pairs));
    return n.pairs(2, 1, 5, 3);
}

void sums() {
    // The query is (2, -3), the key (0.5, 4).
    std::vector<float> const v{10, 100};
    tensor<float, 2> by_distance({17, 2}, 1);  // (distance + 8, feature)
    by_distance(6, 0) = 6;
    //! [sums]
    auto const product = compare(sum(q * k));                                      // 2 * 0.5 - 3 * 4
    auto const distance = compare(-sum(square(q - k)));                            // -(1.5^2 + 7^2)
    auto const of_query = compare(sum(param(v) * q) + kv_idx);                     // 10 * 2 - 100 * 3 + 3
    auto const of_both = compare(sum(q) * sum(k));                                 // -1 * 4.5
    auto const by_row = compare(sum(q * param(by_distance)[kv_idx - q_idx + 8]));  // a row of the table
    //! [sums]
    tensor<float, 2> places({9, 3});  // (position, axis)
    places(5, 0) = 3, places(5, 1) = 1, places(3, 1) = 5;
    std::vector<float> const one{7};
    //! [ranges]
    auto const content = compare(sum(q * k, features(0, 1)) / 2 + sum(q * k, features(1, 2)));  // 2 * 0.5 / 2 - 3 * 4
    auto const place = param(places);                                                 // (position, 3)
    auto const apart = compare(-sqrt(sum(square(place[q_idx] - place[kv_idx]))));     // from (3, 1, 0) to (0, 5, 0)
    auto const from_table = compare(sum(param(one) * k, features(1, 2)));             // 7 * 4
    //! [ranges]
    require(score_by(content) == -11.5f, "content");
    require(score_by(apart) == -5, "apart");
    require(score_by(from_table) == 28, "from_table");
    require(score_by(product) == -11, "product");
    require(score_by(distance) == -51.25f, "distance");
    require(score_by(of_query) == -277, "of_query");
    require(score_by(of_both) == -4.5f, "of_both");
    require(score_by(by_row) == 9, "by_row");
}

void lambdas() {
    std::vector<float> const slopes{0.5f, 0.25f};
    //! [lambdas]
    auto const slope = param(slopes);
    auto const by_expression = dot | rescore(score + slope[head] * (kv_idx - q_idx));
    auto const by_lambda =
        dot | rescore([slope](auto s, auto at) { return s + slope[at.head] * (at.kv_idx - at.q_idx); });
    auto const as_score_mod = dot | rescore([slope](auto s, auto /*b*/, auto h, auto q_idx, auto kv_idx) {
                                  return s + slope[h] * (kv_idx - q_idx);
                              });
    static_assert(std::is_same_v<decltype(by_lambda), decltype(by_expression)>);
    static_assert(std::is_same_v<decltype(as_score_mod), decltype(by_expression)>);
    //! [lambdas]
    require(score_by(by_lambda) == -11.5f, "lambdas");
}

}  // namespace

int main() {
    sums();
    lambdas();
}
