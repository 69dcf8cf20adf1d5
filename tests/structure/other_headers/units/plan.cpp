// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit of a user that asks what would run.
#include <fovea/fovea.hpp>
#include <string>

std::string planned(fovea::view<float const, 2> x) {
    using namespace fovea;
    return explain(scaled_dot | causal | softmax | weighted_sum, x);
}
