// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tutorial, step 3: what runs, what it should be, and what else it can tell.
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace fovea;
using namespace fovea::placeholders;

int main() {
    //! [operands]
    tensor<float, 4> x({1, 2, 512, 32});  // (batch, head, position, feature)
    for (std::size_t i = 0; i < x.elements.size(); ++i) x.elements[i] = std::sin(0.37f * static_cast<float>(i % 1009));
    auto const local = scaled_dot | causal | where(q_idx - kv_idx < 128) | softmax | weighted_sum;
    //! [operands]

    //! [explain]
    std::puts(explain<arch::avx2>(local, x, x, x).c_str());
    //! [explain]

    //! [reference]
    tensor<float, 4> result(x.extents), expected(x.extents);
    attend(local, x, x, x, result);
    reference::attend(local, x, x, x, expected);

    float difference = 0;
    for (std::size_t i = 0; i < result.elements.size(); ++i)
        difference = std::max(difference, std::abs(result.elements[i] - expected.elements[i]));
    std::printf("as the definition says: %s\n", difference < 1e-5f ? "yes" : "no");
    //! [reference]

    //! [outputs]
    tensor<float, 3> log_sums({1, 2, 512}), spread({1, 2, 512});
    attend(local, x, x, x, result, lse(log_sums), entropy(spread));
    for (index_t query : {0, 127, 511})
        std::printf("query %3d: lse %.3f, entropy %.3f\n", static_cast<int>(query), log_sums(0, 0, query),
                    spread(0, 0, query));
    //! [outputs]
}
