// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a kernel is a specification, or takes<names>(function that returns one)
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/alibi.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = 42;
#else
    auto const kernel = scaled_dot | softmax | weighted_sum;
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
