// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/bindings/gradient_unit.hpp>
#include <fovea/fovea.hpp>

using namespace fovea;

// case: gradients_of_pages
// sentence: fovea: a kernel over pages or of sequences has no gradients: take it out of GRADIENTS
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#ifdef FOVEA_BROKEN
    return bindings::run_gradient_unit<float>(how, operands, values, kernel.over_pages());
#else
    return bindings::run_gradient_unit<float>(how, operands, values, kernel);
#endif
}

// case: gradients_without_passes
// sentence: fovea: a kernel has gradients where its aggregator is weighted_sum or running_state: take it out of
// GRADIENTS
fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = scaled_dot | softmax | max_pool;
#else
    auto const kernel = scaled_dot | softmax | weighted_sum;
#endif
    return bindings::run_gradient_unit<float>(how, operands, values, kernel);
}
