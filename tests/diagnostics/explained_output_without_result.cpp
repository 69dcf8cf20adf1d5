// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: lse(...), weights(...) and other outputs come after the result
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::string call(view<float, 2> x, view<float, 2> result, view<float, 2> pairs) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum, x, weights(pairs));
#else
    return explain(scaled_dot | softmax | weighted_sum, x, result, weights(pairs));
#endif
}
