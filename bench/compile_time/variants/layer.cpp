// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using fovea::view;

void run(view<float const, 2> w_query, view<float const, 2> w_key, view<float const, 2> w_value,
         view<float const, 2> w_out, view<float const, 3> x, view<float, 3> y) {
    auto const spec = fovea::project(w_query, w_key, w_value, fovea::heads<8>) | fovea::scaled_dot | fovea::causal
                    | fovea::softmax | fovea::weighted_sum | fovea::output(w_out);
    fovea::attend(spec, x, y);
}
