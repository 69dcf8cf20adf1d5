// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_case.hpp"

#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/where.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/result/best_key.hpp>
#include <fovea/score/dot.hpp>
#include <fovea/score/scaled_dot.hpp>

#include "catch.hpp"

using namespace fovea;
using namespace fovea::placeholders;

TEST_CASE("best_key is what the definition says", "[result]") {
    output_case subject;
    auto const spec = scaled_dot | where(kv_idx + 3 < q_idx) | softmax | weighted_sum;
    auto const ask = [](auto& t) { return best_key(t); };
    auto const expected = subject.defined<int, 3>(spec, {2, 4, 19}, ask);
    auto const got = subject.fused<int, 3>(spec, {2, 4, 19}, ask);
    CHECK(expected.elements == got.elements);
    CHECK(got(0, 0, 3) == -1);
    CHECK(got(0, 0, 4) == 0);
}

TEST_CASE("ties go to the first key", "[result]") {
    //! [example]
    tensor<float, 2> query({1, 1}, 1), key({4, 1}), value({4, 1}), result({1, 1});
    key.elements = {1, 3, 3, 2};
    tensor<int, 1> best({1});
    attend(dot | softmax | weighted_sum, query, key, value, result, best_key(best));
    // best is {1}
    //! [example]
    CHECK(best.elements == std::vector<int>{1});
}
