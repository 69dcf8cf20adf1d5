// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: param keeps a view, and this container is a temporary, destroyed at the end of the statement
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/additive.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::vector<float> const weights_of_features(8, 1.f);

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(additive(std::vector<float>(8, 1.f)) | softmax | weighted_sum, x, result);
#else
    reference::attend(additive(weights_of_features) | softmax | weighted_sum, x, result);
#endif
}
