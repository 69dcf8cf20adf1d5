// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a container of numbers does not say how many features a row has: write view(elements, {rows,
// features})
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;
using namespace fovea::placeholders;

void call(std::vector<float> const& x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | softmax | weighted_sum, view<float const, 2>(x), result);
#else
    attend(scaled_dot | softmax | weighted_sum, view(x, {4, 8}), result);
#endif
}
