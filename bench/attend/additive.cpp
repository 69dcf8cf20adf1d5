// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The score of a small network, v . tanh(q + k): one tanh per hidden unit and pair. d is the hidden size.
#include "bench/family.hpp"
#include "bench/operands.hpp"
#include "bench/yardstick/unfused.hpp"

#include <fovea/fovea.hpp>

namespace {

using bench::shape;

void additive(shape const& s) {
    double const terms = static_cast<double>(s.heads * s.length * s.length * s.size);
    bench::work const done{.flops = 4 * terms, .terms = terms};
    auto const hidden = [s] { return yardstick::random_tensor<float, 1>({s.size}, 4, 0.2); };
    bench::add<float>("attend/additive", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        auto const v = hidden();
        auto const spec = fovea::additive(v) | fovea::softmax | fovea::weighted_sum;
        fovea::workspace scratch;
        bench::measure<float>(state, done, [&] { fovea::attend(scratch, spec, o.query, o.key, o.value, o.result); });
    });
    bench::add<float>("eigen/additive", s, [=](benchmark::State& state) {
        auto o = bench::operands_of<float>(s);
        auto const v = hidden();
        bench::measure<float>(state, done, [&] {
            unfused::additive<float>(o.query.view(), o.key.view(), o.value.view(), v.view(), o.result.view());
        });
    });
}

bench::family const rows([] { additive({.heads = 1, .length = 1024, .size = 128}); });

}  // namespace
