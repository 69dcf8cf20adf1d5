// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: map needs an expression of out, such as map(elu(out))
#include <fovea/aggregate/map.hpp>
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;
using namespace fovea::placeholders;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum | map(elu(score)), x, result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum | map(elu(out)), x, result);
#endif
}
