// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: the function of takes<...> takes views of const elements, numbers and graph_view
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/alibi.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <vector>

using namespace fovea;

fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"slopes(heads)">(
        [](std::vector<float> const& slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
