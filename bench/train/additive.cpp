// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward and backward of the score of a small network, v . tanh(q + k), with the gradient of v. d is the hidden size.
#include "bench/train_rows.hpp"
#include "bench/yardstick/random.hpp"

namespace {

constexpr bench::shape sizes{.heads = 1, .length = 1024, .size = 128};

bench::family const rows([] {
    bench::add<float>("train/additive", sizes, [](benchmark::State& state) {
        auto const v = yardstick::random_tensor<float, 1>({sizes.size}, 4, 0.2);
        fovea::tensor<float, 1> d_v({sizes.size});
        double const terms = static_cast<double>(sizes.length * sizes.length * sizes.size);
        bench::measure_training<float>(state, {.flops = 12 * terms, .terms = terms}, sizes,
                                       fovea::additive(v) | fovea::softmax | fovea::weighted_sum, fovea::grad(v, d_v));
    });
});

}  // namespace
