// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a pointer does not say how many elements there are: write view(pointer, extents)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::string call(float const* x) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum, x, x, x);
#else
    return explain(scaled_dot | softmax | weighted_sum, view(x, {4, 8}));
#endif
}
