// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gcc: reference to 'decay' is ambiguous
// clang: reference to 'decay' is ambiguous
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/driver/attend.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/decay.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <type_traits>

using namespace fovea;
using namespace fovea::placeholders;
using namespace std;

void call(view<float, 2> x, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    attend(scaled_dot | decay(0.5) | softmax | weighted_sum, x, result);
#else
    attend(scaled_dot | fovea::decay(0.5) | softmax | weighted_sum, x, result);
#endif
}
