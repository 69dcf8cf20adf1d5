// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of the surface: a score and a mask of a user's own, against the same kernel written by hand (hand/own.cpp).
#include "bench/check.hpp"
#include "bench/hand/kernels.hpp"
#include "bench/pair_rows.hpp"

#include <array>

namespace {

using bench::index_t;
using bench::hand::own;
using namespace fovea::placeholders;

constexpr bench::shape sizes{.heads = 8, .length = 2048, .size = own::size};
constexpr std::array<float, 8> slopes{1 / 2.f, 1 / 4.f, 1 / 8.f, 1 / 16.f, 1 / 32.f, 1 / 64.f, 1 / 128.f, 1 / 256.f};

index_t visible_pairs() {
    index_t pairs = 0;
    for (index_t i = 0; i < sizes.length; ++i)
        for (index_t j = 0; j <= i; ++j) pairs += i - j < own::width || j < own::sinks;
    return pairs;
}

template <class Arch>
void own_row(benchmark::State& state) {
    auto o = bench::operands_of<float>(sizes);
    auto const slope = fovea::param(fovea::view<float const, 1>(slopes, {8}));
    auto const spec = fovea::scaled_dot | fovea::rescore(score - slope[head] * (q_idx - kv_idx))
                    | fovea::rescore(score / (1 + abs(score) * 0.05f)) | fovea::causal
                    | fovea::where(q_idx - kv_idx < own::width || kv_idx < own::sinks) | fovea::softmax
                    | fovea::weighted_sum;
    fovea::workspace scratch;
    auto const surface = [&] {
        fovea::attend_on<Arch>(fovea::serial, scratch, spec, o.query, o.key, o.value, o.result);
    };
    surface();
    auto by_hand = o.result;
    own kernel(sizes.length);
    auto const hand = [&] {
        for (index_t h = 0; h < sizes.heads; ++h) {
            index_t const at = h * sizes.length * sizes.size;
            kernel(slopes[static_cast<std::size_t>(h)], o.query.data() + at, o.key.data() + at, o.value.data() + at,
                   by_hand.data() + at);
        }
    };
    hand();
    bench::check("hand/own.cpp", by_hand, o.result);
    bench::measure<float>(state, bench::pair_work<float>(sizes, visible_pairs(), false), surface,
                          bench::over_hand(hand));
}

bench::family const rows([] {
    using fovea::arch::best, fovea::arch::portable;
    bench::add<float>("attend/own", sizes, own_row<best>);
    if constexpr (best::vector_bytes == portable::vector_bytes)  // that of the loop by hand too
        bench::add<float>("attend/own_portable", sizes, own_row<portable>);
});

}  // namespace
