// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores changed by an expression before the softmax: what a user's own variant costs over the plain form.
#include "bench/pair_rows.hpp"
#include "bench/yardstick/random.hpp"

#include <array>

namespace {

using namespace fovea::placeholders;

constexpr std::array<float, 8> slopes{1 / 2.f, 1 / 4.f, 1 / 8.f, 1 / 16.f, 1 / 32.f, 1 / 64.f, 1 / 128.f, 1 / 256.f};

template <class Spec>
void rescored(std::string const& family, Spec const& spec, unfused::steps<float> const& steps, bool peers = true) {
    constexpr fovea::index_t length = 2048;
    bench::add_pair_rows(bench::variant<float, Spec>{family, spec, steps, true, false, peers},
                         {.heads = 8, .length = length, .size = 64}, length * length);
}

bench::family const rows([] {
    auto const slope = fovea::param(fovea::view<float const, 1>(slopes, {8}));
    auto const alibi = fovea::rescore(score + slope[head] * (kv_idx - q_idx));
    auto const softcap = fovea::rescore(50.f * tanh(score / 50.f));
    rescored("alibi", fovea::scaled_dot | alibi | fovea::softmax | fovea::weighted_sum, {.alibi_slopes = slopes});
    static auto const bias = yardstick::random_tensor<float, 2>({2048, 2048}, 7);
    rescored("mask_tensor",
             fovea::scaled_dot | fovea::rescore(score + fovea::param(bias)(q_idx, kv_idx)) | fovea::softmax
                 | fovea::weighted_sum,
             {}, false);
    static auto const distances = yardstick::random_tensor<float, 2>({8, 4095}, 8);
    rescored("table",
             fovea::scaled_dot | fovea::rescore(score + fovea::param(distances)(head, kv_idx - q_idx + 2047))
                 | fovea::softmax | fovea::weighted_sum,
             {}, false);
    rescored("softcap", fovea::scaled_dot | softcap | fovea::softmax | fovea::weighted_sum, {.softcap = 50});
});

}  // namespace
