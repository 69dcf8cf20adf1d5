// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: std::uint16_t is an integer: where the 16 bits hold a float, cast the pointer:
// reinterpret_cast<bfloat16 const*>(data), or float16
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/mask/document.hpp>
#include <fovea/mask/mask_tensor.hpp>
#include <fovea/normalize/softmax.hpp>
#include <fovea/reference/attend.hpp>
#include <fovea/score/bias.hpp>
#include <fovea/score/scaled_dot.hpp>

#include <cstdint>

using namespace fovea;

void call(view<float, 2> x, view<float, 2> result, view<std::uint16_t const, 2> bits,
          view<std::uint16_t const, 1> ids) {
#ifdef FOVEA_BROKEN
    reference::attend(scaled_dot | bias(bits) | softmax | weighted_sum, x, result);
#else
    reference::attend(scaled_dot | mask_tensor(bits) | document(ids) | softmax | weighted_sum, x, result);
#endif
}
