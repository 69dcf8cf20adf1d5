// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this call has no specification: attend(specification, query, key, value, result)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(x, x, x, result);
#else
    attend(scaled_dot | softmax | weighted_sum, x, x, x, result);
#endif
}
