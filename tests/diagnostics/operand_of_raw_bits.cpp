// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/bfloat16.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cstdint>

using namespace fovea;

void call(std::uint16_t const* bits, view<float, 2> result) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | softmax | weighted_sum, view(bits, {4, 8}), result);
#else
    reference::attend(scaled_dot | softmax | weighted_sum, view(reinterpret_cast<bfloat16 const*>(bits), {4, 8}),
                      result);
#endif
}
