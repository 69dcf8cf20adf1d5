// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running states: decays, gates and the delta rule. The bound is that of the products with the state, of which a step
// of one head has two, and three with the delta rule.
#include "bench/state_rows.hpp"

namespace {

bench::family const rows([] {
    bench::for_each_state_row([](std::string const& family, auto const& spec, bench::shape const& s, bool corrects) {
        bench::add<float>("attend/" + family, s, [=](benchmark::State& rounds) {
            auto o = bench::operands_of<float>(s);
            fovea::workspace scratch, other_scratch;
            auto const done = bench::state_work(s, corrects ? 3 : 2);
            auto const call = bench::attend_call(o, scratch, spec, s.threads);
            if (s.threads > 1)
                bench::measure<float>(rounds, done, call,
                                      bench::of_one_thread(bench::attend_call(o, other_scratch, spec)));
            else bench::measure<float>(rounds, done, call);
        });
    });
});

}  // namespace
