// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A whole multi-head layer: three projections, attention, output projection. d is the size of the model.
#include "bench/family.hpp"
#include "bench/yardstick/random.hpp"

#include <fovea/fovea.hpp>

namespace {

constexpr bench::shape sizes{.heads = 8, .length = 512, .size = 512};

void layer(benchmark::State& state) {
    constexpr auto n = sizes.length, model = sizes.size;
    auto const x = yardstick::random_tensor<float, 2>({n, model}, 1);
    auto const matrix = [](std::uint64_t seed) {
        return yardstick::random_tensor<float, 2>({model, model}, seed, 0.04);
    };
    auto const query = matrix(2), key = matrix(3), value = matrix(4), out = matrix(5);
    fovea::tensor<float, 2> result({n, model});
    auto const spec = fovea::project(query, key, value, fovea::heads<8>) | fovea::scaled_dot | fovea::softmax
                    | fovea::weighted_sum | fovea::output(out);
    fovea::workspace scratch;
    double const projections = 4 * 2.0 * n * model * model, attention = 4.0 * n * n * model;
    bench::measure<float>(state, {.flops = projections + attention}, [&] { fovea::attend(scratch, spec, x, result); });
}

bench::family const rows([] { bench::add<float>("attend/layer", sizes, layer); });

}  // namespace
