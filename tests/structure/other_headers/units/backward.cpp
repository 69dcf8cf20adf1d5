// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit of a user that differentiates.
#include <Eigen/Dense>
#include <fovea/gradient.hpp>

void differentiate_itself(fovea::view<float const, 2> x, fovea::view<float const, 2> d_result,
                          fovea::view<float, 2> d_x) {
    using namespace fovea;
    gradient(scaled_dot | causal | softmax | weighted_sum, x, d_result, grad(x, d_x));
}
