// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stations/stations.hpp"

#include "bench/yardstick/random.hpp"
#include "bench/yardstick/unfused.hpp"
#include "stations/report.hpp"

#include <cstdio>

namespace tour {

using namespace fovea;

void cross_attention() {
    heading(3, "Cross attention: ten positions of a target look at twenty of a source");
    auto const query = yardstick::random_tensor<float, 3>({100, 10, 5}, 1);
    auto const key = yardstick::random_tensor<float, 3>({100, 20, 5}, 2);
    auto const value = yardstick::random_tensor<float, 3>({100, 20, 10}, 3);

    //! [cross_attention]
    constexpr auto cross = scaled_dot | softmax | weighted_sum;
    tensor<float, 3> result({100, 10, 10}), shares({100, 10, 20});
    attend(cross, query, key, value, result, weights(as_heads(shares.view())));
    //! [cross_attention]

    float sum = 0;
    for (index_t j = 0; j < 20; ++j) sum += shares(99, 9, j);
    std::printf("\n  query %s, key %s, value %s\n  give result %s and weights %s; the last row of these sums to %.6f\n",
                to_text(query.extents).c_str(), to_text(key.extents).c_str(), to_text(value.extents).c_str(),
                to_text(result.extents).c_str(), to_text(shares.extents).c_str(), static_cast<double>(sum));
    report("100 batches of these", cross, 2.0 * 100 * 10 * 20 * (5 + 10),
           [&] {
               unfused::attend<float>(as_heads(query.view()), as_heads(key.view()), as_heads(value.view()),
                                      as_heads(result.view()));
           },
           result, query, key, value);
}

}  // namespace tour
