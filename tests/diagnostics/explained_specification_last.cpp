// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the specification comes first: attend(specification, query, key, value, result), with its
// parts joined by `|`
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::string call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    return explain(x, scaled_dot | softmax | weighted_sum);
#else
    return explain(scaled_dot | softmax | weighted_sum, x);
#endif
}
