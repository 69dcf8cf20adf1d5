// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call of dense.cpp, and beside it the same with keys and values of q8_0: what a format adds is the difference.
#include <fovea/fovea.hpp>

using fovea::q8_0;
using fovea::view;

void run(view<float const, 4> query, view<float const, 4> key, view<float const, 4> value, view<float, 4> result) {
    fovea::attend(fovea::scaled_dot | fovea::softmax | fovea::weighted_sum, query, key, value, result);
}

void run(view<float const, 4> query, view<q8_0 const, 4> key, view<q8_0 const, 4> value, view<float, 4> result) {
    fovea::attend(fovea::scaled_dot | fovea::softmax | fovea::weighted_sum, query, fovea::quantized(key),
                  fovea::quantized(value), result);
}
