// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fovea/fovea.hpp>

using fovea::view;

void run(fovea::graph const& graph, view<float const, 2> target, view<float const, 2> source,
         view<float const, 4> features, view<float, 4> result) {
    auto const spec = fovea::gat_score(target, source) | fovea::neighbors(graph) | fovea::softmax | fovea::weighted_sum;
    fovea::attend(spec, features, features, features, result);
}
