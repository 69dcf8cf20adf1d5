// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a table has at most one axis without an index, the one of the features
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/compare.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result, view<float, 2> table) {
#ifdef FOVEA_BROKEN
    reference::attend(compare(sum(param(table) * q * k)) | softmax | weighted_sum, x, result);
#else
    reference::attend(compare(sum(param(table)[head] * q * k)) | softmax | weighted_sum, x, result);
#endif
}
