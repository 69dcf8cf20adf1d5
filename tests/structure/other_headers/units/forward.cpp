// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A unit of a user that computes with what others have declared in the same unit.
#include <Eigen/Core>
#include <fovea/fovea.hpp>

void attend_to_itself(fovea::view<float const, 2> x, fovea::view<float, 2> result) {
    using namespace fovea;
    attend(scaled_dot | causal | softmax | weighted_sum, x, result);
}
