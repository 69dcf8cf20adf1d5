// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores that spread over 30 and 300 times as much: their weights fall below the smallest normal number, with which
// many processors compute a hundred times slower. `over_plain` is the time relative to the same call of scores near 0.
#include "bench/train_rows.hpp"

namespace {

/// Rows of call(operands, gradients, scratch) where queries are so many times as large, compared with plain ones.
template <class Call>
void add_rows(std::string const& family, bench::shape const& s, bench::work const& done, Call const& call) {
    for (int const spread : {30, 300})
        bench::add<float>(family + "_spread_" + std::to_string(spread), s, [=](benchmark::State& state) {
            auto near = bench::operands_of<float>(s), far = near;
            for (float& x : far.query.elements) x *= static_cast<float>(spread);
            bench::gradients<float> d_near(near), d_far(far);
            fovea::workspace scratch, other_scratch;
            auto plain = call(near, d_near, other_scratch);
            auto row = call(far, d_far, scratch);
            bench::measure<float>(state, done, [&row] { row(); }, bench::versus{"over_plain", [&plain] { plain(); }});
        });
}

template <class Spec>
void add_forward(std::string const& family, Spec const& spec, bench::shape const& s) {
    add_rows(
        "attend/" + family, s, bench::pair_work<float>(s, s.length * s.key_length(), false),
        [=](auto& operands, auto&, fovea::workspace& scratch) { return bench::attend_call(operands, scratch, spec); });
}
template <class Spec>
void add_training(std::string const& family, Spec const& spec, bench::shape const& s) {
    add_rows("train/" + family, s, bench::training_work(s, s.length * s.key_length()),
             [=](auto& operands, auto& d, fovea::workspace& scratch) {
                 return bench::training_call(operands, d, scratch, 1, spec);
             });
}

bench::family const rows([] {
    using namespace fovea;
    add_forward("dense", bench::plain, {.heads = 8, .length = 512, .keys = 4096, .size = 64});
    add_forward("decode", bench::plain, {.heads = 8, .length = 1, .keys = 4096, .size = 64});
    add_forward("gaussian", gaussian(2.f) | softmax | weighted_sum, {.heads = 8, .length = 512, .size = 64});
    add_forward("exponential", scaled_dot | weigh(exp(-abs(placeholders::score))) | weighted_sum,
                {.heads = 8, .length = 512, .size = 64});
    add_training("dense", bench::plain, {.heads = 8, .length = 512, .size = 64});
});

}  // namespace
