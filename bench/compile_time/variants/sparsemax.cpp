// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using fovea::view;

void run(view<float const, 4> query, view<float const, 4> key, view<float const, 4> value, view<float, 4> result) {
    fovea::attend(fovea::scaled_dot | fovea::sparsemax | fovea::weighted_sum, query, key, value, result);
}
