// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using fovea::view;
using namespace fovea::placeholders;

void run(view<float const, 1> slopes, view<float const, 4> query, view<float const, 4> key, view<float const, 4> value,
         view<float, 4> result) {
    auto const spec = fovea::scaled_dot | fovea::rescore(score - fovea::param(slopes)[head] * (q_idx - kv_idx))
                    | fovea::rescore(50.f * tanh(score / 50.f)) | fovea::causal | fovea::where(q_idx - kv_idx < 4096)
                    | fovea::softmax | fovea::weighted_sum;
    fovea::attend(spec, query, key, value, result);
}
