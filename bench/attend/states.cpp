// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running states: decays, gates and the delta rule. The bound is that of the products with the state, of which a step
// of one head has two, and three with the delta rule.
#include "bench/pair_rows.hpp"
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
        bench::add<float>("attend/" + family, s, [=](benchmark::State& rounds) {
            auto o = bench::operands_of<float>(s);
            fovea::workspace scratch, other_scratch;
            auto const call = bench::attend_call(o, scratch, spec, s.threads);
            if (s.threads > 1)
                bench::measure<float>(rounds, done, call,
                                      bench::of_one_thread(bench::attend_call(o, other_scratch, spec)));
            else bench::measure<float>(rounds, done, call);
        });
    }
}

bench::family const rows([] {
    static auto gates = yardstick::random_tensor<float, 4>({1, 1, 4096, 64}, 7, 0.05);
    for (float& x : gates.elements) x = -std::abs(x);
    add_row("state", state, 2);
    add_row("state_decay", state | fovea::gated(-0.05f), 2);
    add_row("state_gates", state | fovea::gated(gates), 2);
    add_row("state_delta", state | fovea::delta(0.01f), 3);
});

}  // namespace
