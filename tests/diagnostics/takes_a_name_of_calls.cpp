// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: takes<...> names an argument or axis as calls name something else: call, query, key, value,
// result, page_table, pages, query_offsets, key_offsets, sequences, kernel, out, threads, library or dtype
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/bindings/unit.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/score/alibi.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

fovea_status call(fovea_call const* how, fovea_array const* operands, fovea_value const* values) {
#ifdef FOVEA_BROKEN
    auto const kernel = takes<"out(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#else
    auto const kernel = takes<"slopes(heads)">(
        [](view<float const, 1> slopes) { return scaled_dot | alibi(slopes) | softmax | weighted_sum; });
#endif
    return bindings::run_unit<float>(how, operands, values, kernel);
}
