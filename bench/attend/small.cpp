// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A few hundred pairs per head: what is left when the fixed cost of a call weighs. The loop by hand knows the shape.
#include "bench/check.hpp"
#include "bench/hand/kernels.hpp"
#include "bench/pair_rows.hpp"

namespace {

constexpr bench::shape sizes{.heads = 8, .length = 16, .size = 16};
constexpr auto pairs = sizes.length * sizes.length;

void small(benchmark::State& state) {
    auto o = bench::operands_of<float>(sizes);
    fovea::workspace scratch;
    auto const hand = [&] {
        for (fovea::index_t at = 0; at < o.query.size(); at += sizes.length * sizes.size)
            bench::hand::small(o.query.data() + at, o.key.data() + at, o.value.data() + at, o.result.data() + at);
    };
    auto const attend = bench::attend_call(o, scratch, bench::plain);
    attend();
    auto const expected = o.result;
    hand();
    bench::check("hand/small.cpp", o.result, expected);
    bench::measure<float>(state, bench::pair_work<float>(sizes, pairs, false), attend, bench::over_hand(hand));
}

bench::family const rows([] {
    bench::add<float>("attend/small", sizes, small);
    bench::add_peer_rows(bench::variant<float, decltype(bench::plain)>{"small", bench::plain}, sizes, pairs);
});

}  // namespace
