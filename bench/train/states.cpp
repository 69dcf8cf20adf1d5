// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of running states: decays, gates and the delta rule. The bound is that of the products with states, of
// which a step of one head has five, and eight with the delta rule: what chunks add to these is not counted.
#include "bench/state_rows.hpp"
#include "bench/train_rows.hpp"

namespace {

bench::family const rows([] {
    bench::for_each_state_row([](std::string const& family, auto const& spec, bench::shape const& s, bool corrects) {
        bench::add<float>("train/" + family, s, [=](benchmark::State& rounds) {
            auto o = bench::operands_of<float>(s);
            bench::gradients<float> d(o);
            fovea::workspace scratch, other_scratch;
            auto const done = bench::state_work(s, corrects ? 8 : 5);
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
    });
});

}  // namespace
