// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of docs/language.md, each stated in the language itself: conditions that must hold for query 5 and key 3 of
// head 1 and batch 2, in a call and by its definition.
#include <fovea/fovea.hpp>

#include "docs/support.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

namespace {

/// Whether the query sees the key.
template <class Condition>
bool holds(Condition const& condition) {
    operands n;
    auto const spec = dot | where(condition) | uniform | weighted_sum;
    attend(spec, n.query, n.key, n.value, n.result, weights(n.pairs));
    bool const seen = n.pairs(2, 1, 5, 3) != 0;
    reference::attend(spec, n.query, n.key, n.value, n.result, weights(n.pairs));
    require(seen == (n.pairs(2, 1, 5, 3) != 0), "a call agrees with its definition");
    return seen;
}

void numbers() {
    //! [names]
    auto const names = q_idx == 5 && kv_idx == 3 && head == 1 && batch == 2  // what differs from pair to pair
                    && q_len == 8 && kv_len == 9 && dim == 2;                // queries, keys, features that are summed
    //! [names]
    //! [integers]
    auto const integers = (kv_idx - q_idx) / 4 == -1                        // -2 / 4, rounded down
                       && (kv_idx - q_idx) % 4 == 2                         // with the sign of the divisor
                       && q_idx / 0 == 0 && q_idx % 0 == 5                  // no trap
                       && q_idx * (index_t{1} << 62) == (index_t{1} << 62)  // 5 * 2^62 wraps around
                       && min(q_idx, kv_idx) == 3 && max(q_idx, 6) == 6     // these stay integers
                       && abs(kv_idx - q_idx) == 2 && square(kv_idx) == 9 && relu(kv_idx - q_idx) == 0
                       && select(kv_idx < q_idx, q_idx, kv_idx) == 5;
    //! [integers]
    //! [reals]
    auto const reals = q_idx / 2 == 2                                 // integers: rounded down
                    && real(q_idx) / 2 == 2.5                         // reals
                    && q_idx / 2.0 == 2.5                             // one real makes both real
                    && floor_div(q_idx, 2) + 0.5 == 2.5               // rounded down, then real
                    && select(kv_idx < q_idx, q_idx, 0.5) / 2 == 2.5  // real if one of the two is
                    && sigmoid(q_idx - 5) == 0.5;                     // functions of integers are real
    //! [reals]
    require(holds(names && integers && reals), "names, integers and reals");
}

void tables() {
    //! [tables]
    std::vector<int> const lengths{7, 8, 9};       // one integer for each element of the batch
    std::vector<float> const slopes{0.5f, 0.25f};  // one real for each head
    tensor<std::int8_t, 2> buckets({2, 17});       // (head, distance + 8)
    buckets(1, 6) = 4;
    tensor<bool, 1> seen({9}, true);               // conditions

    auto const tables = param(lengths)[batch] == 9 && param(lengths)[batch] / 2 == 4
                     && param(slopes)[head] * (kv_idx - q_idx) == -0.5
                     && param(buckets)[head][kv_idx - q_idx + 8] == 4     // one index for each axis,
                     && param(buckets)(head, kv_idx - q_idx + 8) == 4     // or all at once
                     && param(lengths)[param(buckets)(head, 6) - 2] == 9  // an index may come from a table
                     && param(seen)[kv_idx];
    //! [tables]
    require(holds(tables), "tables");
    seen(3) = false;
    require(!holds(tables), "a table is read by each call");
}

void guarded_reads() {
    //! [guards]
    std::vector<float> const two{1, 2};
    auto const guarded = select(kv_idx < 2, param(two)[kv_idx], 0) == 0  // key 3 does not read the table,
                      && (kv_idx >= 2 || param(two)[kv_idx] == 1)        // nor here
                      && param(two)[min(kv_idx, 1)] == 2;
    //! [guards]
    //! [random]
    auto const number = random(7);
    auto const randoms = number > 0 && number < 1 && number == random(7) && number != random(8);
    //! [random]
    require(holds(guarded && randoms), "guards and random numbers");
    std::string message;
    operands n;
    n.result(0, 0, 0, 0) = 7;
    try {
        //! [outside]
        attend(dot | rescore(score + param(two)[kv_idx]) | softmax | weighted_sum, n.query, n.key, n.value, n.result);
        //! [outside]
    } catch (shape_error const& error) {
        message = error.what();
    }
    require(message
                == "a table of extents (2) is read at 5 along axis 0, which has 2 elements: batch 0, head 0, q_idx 0, "
                   "kv_idx 5",
            message.c_str());
    require(n.result(0, 0, 0, 0) == 7, "nothing is written");
    attend(dot | rescore(score + param(two)[kv_idx]) | where(kv_idx < 2) | softmax | weighted_sum, n.query, n.key,
           n.value, n.result);
}

}  // namespace

int main() {
    numbers();
    tables();
    guarded_reads();
}
