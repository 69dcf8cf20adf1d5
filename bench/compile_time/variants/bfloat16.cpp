// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using fovea::bfloat16;
using fovea::view;

void run(view<bfloat16 const, 4> query, view<bfloat16 const, 4> key, view<bfloat16 const, 4> value,
         view<bfloat16, 4> result) {
    fovea::attend(fovea::scaled_dot | fovea::causal | fovea::softmax | fovea::weighted_sum, query, key, value, result);
}
