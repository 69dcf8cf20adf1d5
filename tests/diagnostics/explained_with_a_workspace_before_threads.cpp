// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: before the specification come threads(n), a named workspace and ragged(...), in this order
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::string call(view<float, 2> x, workspace& scratch) {
#ifdef FOVEA_BROKEN
    return explain(scratch, threads(2), scaled_dot | softmax | weighted_sum, x);
#else
    return explain(threads(2), scratch, scaled_dot | softmax | weighted_sum, x);
#endif
}
