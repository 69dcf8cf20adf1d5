// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A few hundred pairs per head: what is left when the fixed cost of a call weighs. The loops by hand know the shape.
#include "bench/check.hpp"
#include "bench/hand/kernels.hpp"
#include "bench/pair_rows.hpp"

namespace {

using hand_loop = void (*)(float const* query, float const* key, float const* value, float* result);

void small(benchmark::State& state, bench::shape const& sizes, hand_loop loop) {
    auto o = bench::operands_of<float>(sizes);
    fovea::workspace scratch;
    auto const hand = [&] {
        for (fovea::index_t h = 0; h < sizes.heads; ++h) {
            fovea::index_t const of_queries = h * sizes.length * sizes.size,
                                 of_keys = h * sizes.key_length() * sizes.size;
            loop(o.query.data() + of_queries, o.key.data() + of_keys, o.value.data() + of_keys,
                 o.result.data() + of_queries);
        }
    };
    auto const attend = bench::attend_call(o, scratch, bench::plain);
    attend();
    auto const expected = o.result;
    hand();
    bench::check("hand/small.cpp", o.result, expected);
    auto const work = bench::pair_work<float>(sizes, sizes.length * sizes.key_length(), false);
    bench::measure<float>(state, work, attend, bench::over_hand(hand));
}

void add_small(bench::shape const& sizes, hand_loop loop) {
    bench::add<float>("attend/small", sizes, [=](benchmark::State& state) { small(state, sizes, loop); });
    bench::add_peer_rows(bench::variant<float, decltype(bench::plain)>{"small", bench::plain}, sizes,
                         sizes.length * sizes.key_length());
}

bench::family const rows([] {
    add_small({.heads = 8, .length = 16, .size = 16}, bench::hand::small);
    add_small({.heads = 100, .length = 10, .keys = 20, .size = 5}, bench::hand::tiny);
});

}  // namespace
