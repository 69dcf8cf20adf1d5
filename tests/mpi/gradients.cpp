// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients over any number of ranks are those of one process: those of rows where the rows are, those of tables on all
// ranks.
#include "mpi/gradients.hpp"

using namespace sequences;
using namespace fovea::placeholders;

TEST_CASE("gradients of softmax, whoever holds which positions", "[mpi]") {
    differentiated const whole(sequence<float>(103, 103));
    tensor<float, 1> slopes({4});
    std::copy_n(std::begin({0.5f, 0.25f, 0.125f, 0.0625f}), 4, slopes.begin());
    auto const spec = scaled_dot | alibi(slopes) | causal | softmax | weighted_sum;
    whole.check(mpi::contiguous, 32, spec, slopes);
    whole.check(mpi::striped(16), 32, spec, slopes);
    whole.check(mpi::zigzag, 1000, spec, slopes);
    std::vector<int> every;  // from the last one down to the first
    for (int n = 102 - world_rank(); n >= 0; n -= world_size()) every.push_back(n);
    whole.check(mpi::listed(every), 32, spec, slopes);
}
