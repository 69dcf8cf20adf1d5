// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of running states: decays, gates and the delta rule. The bound is that of the products with states, of
// which a step of one head has five, and eight with the delta rule: what chunks add to these is not counted.
#include "bench/train_rows.hpp"
#include "bench/yardstick/random.hpp"

#include <cmath>

namespace {

using bench::index_t;

constexpr auto state = fovea::scaled_dot | fovea::causal | fovea::unnormalized | fovea::running_state;

template <class Spec>
void add_row(std::string const& family, Spec const& spec, index_t products) {
    for (bench::shape const& s :
         {bench::shape{.length = 4096, .size = 64}, {.length = 4096, .size = 64, .threads = 2}}) {
        bench::work const done{.flops = 2.0 * static_cast<double>(products * s.heads * s.length * s.size * s.size),
                               .threads = s.threads};
        bench::add<float>("train/" + family, s, [=](benchmark::State& rounds) {
            auto o = bench::operands_of<float>(s);
            bench::gradients<float> d(o);
            fovea::workspace scratch, other_scratch;
            auto const call = [&](fovea::workspace& memory, int threads) {
                return [&o, &d, &memory, spec, threads] {
                    fovea::gradient(fovea::threads(threads), memory, spec, o.query, o.key, o.value, d.d_result,
                                    fovea::grad(o.query, d.d_query), fovea::grad(o.key, d.d_key),
                                    fovea::grad(o.value, d.d_value));
                };
            };
            if (s.threads > 1)
                bench::measure<float>(rounds, done, call(scratch, s.threads),
                                      bench::of_one_thread(call(other_scratch, 1)));
            else bench::measure<float>(rounds, done, call(scratch, 1));
        });
    }
}

bench::family const rows([] {
    static auto gates = yardstick::random_tensor<float, 4>({1, 1, 4096, 64}, 7, 0.05);
    for (float& x : gates.elements) x = -std::abs(x);
    add_row("state", state, 5);
    add_row("state_decay", state | fovea::gated(-0.05f), 5);
    add_row("state_gates", state | fovea::gated(gates), 5);
    add_row("state_delta", state | fovea::delta(0.01f), 8);
});

}  // namespace
