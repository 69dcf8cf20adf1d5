// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/core/float16.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/project/project.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cstdint>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<std::uint16_t const, 2> bits) {
#ifdef FOVEA_BROKEN
    reference::attend(project(bits, as_is, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#else
    auto const w = view(reinterpret_cast<float16 const*>(bits.data), {8, 8});
    reference::attend(project(w, as_is, as_is) | scaled_dot | softmax | weighted_sum, x, result);
#endif
}
