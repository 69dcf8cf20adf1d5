// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer of a Transformer: projections with rotary positions, grouped heads, output matrix and residual in one call.
#include <fovea/fovea.hpp>

#include <cstdio>
#include <random>
#include <utility>

using namespace fovea;

int main() {
    index_t const model = 64, key_features = 16;  // 8 query heads and 2 key heads of 8 features
    std::mt19937 engine(1);
    auto const filled = [&](index_t rows, index_t columns, float size) {
        tensor<float, 2> m({rows, columns});
        for (auto& x : m) x = size * (static_cast<float>(engine() >> 8) * 0x1p-23f - 1);
        return m;
    };
    auto const Wq = filled(model, model, 0.2f), Wk = filled(model, key_features, 0.2f),
               Wv = filled(model, key_features, 0.2f), Wo = filled(model, model, 0.2f);
    auto const tokens = filled(12, model, 1);  // (position, feature); a batch has an axis before these
    tensor<float, 2> result(tokens.extents);

    auto const layer = project(Wq | rotary, Wk | rotary, Wv, heads<8, 2>)
                     | scaled_dot | causal | softmax | weighted_sum
                     | output(Wo) | residual;
    attend(threads(4), layer, tokens, result);

    for (auto const& [when, m] : {std::pair("before", &tokens), {"after", &result}})
        std::printf("the first token %s: %.3f %.3f %.3f ...\n", when, double{(*m)(0, 0)}, double{(*m)(0, 1)},
                    double{(*m)(0, 2)});
}
// prints
// the first token before: 0.115 -0.884 -0.272 ...
// the first token after: -0.219 -1.779 -0.250 ...
