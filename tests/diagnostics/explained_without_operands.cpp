// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: an operand or the result is missing: attend(specification, query, key, value, result),
// attend(specification, x, result) or attend(specification, queries(x), memory(m), result)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/explain.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

std::string call(view<float, 2> x) {
#ifdef FOVEA_BROKEN
    return explain(scaled_dot | softmax | weighted_sum);
#else
    return explain(scaled_dot | softmax | weighted_sum, x);
#endif
}
