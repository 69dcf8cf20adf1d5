// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: takes<...> has as many names as its function has arguments
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/alibi.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"a(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#else
    auto const kernel = takes<"a(heads), b(heads)">([](view<float const, 1> a, view<float const, 1> b) {
        return scaled_dot | alibi(a) | alibi(b) | softmax | weighted_sum;
    });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
