// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: a number that takes<...> names as the extent of a table is an integer
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/alibi.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(n), n">(
        [](view<float const, 1> slopes, float) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(n), n">(
        [](view<float const, 1> slopes, index_t) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
