// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A score_mod and a mask_mod of FlexAttention, ported as they are and by words, and the masks of its examples.
#include "check.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

void port() {
    auto const query = random_tensor<4>({2, 8, 90, 16}), key = random_tensor<4>({2, 2, 90, 16}),
               value = random_tensor<4>({2, 2, 90, 16});
    auto const slopes = random_tensor<1>({8});
    tensor<float, 4> result(query.extents), by_words(query.extents);
    tensor<float, 3> log_sums({2, 8, 90});
    //! [port]
    float const cap = 20;
    index_t const window = 48;
    auto const slope = param(slopes);  // a tensor that the function captures
    auto const score_mod = [&](auto score, auto, auto h, auto q_idx, auto kv_idx) {
        auto const biased = score + slope[h] * (kv_idx - q_idx);
        return cap * tanh(biased / cap);
    };
    auto const mask_mod = [&](auto, auto, auto q_idx, auto kv_idx) {
        return q_idx >= kv_idx && q_idx - kv_idx < window;
    };
    auto const ported = scaled_dot | rescore(score_mod) | where(mask_mod) | softmax | weighted_sum;
    attend(threads(4), ported, query, key, value, result, lse(log_sums));
    //! [port]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        if (j > i || i - j >= window) return minus_infinity;
        double const penalty = static_cast<double>(slopes(h)) * static_cast<double>(j - i);
        double const biased = product(query, key, b, h, i, j) / 4 + penalty;
        return 20 * std::tanh(biased / 20);
    };
    require(difference(result, plain_attention(score, 8, 90, value)) < 1e-5f, "the port is what the loops compute");
    require(std::abs(static_cast<double>(log_sums(1, 5, 0)) - score(1, 5, 0, 0)) < 1e-5, "one key: its score");

    //! [words]
    auto const words = scaled_dot | alibi(slopes) | softcap(cap) | causal | sliding_window(window - 1, 0)
                     | softmax | weighted_sum;
    attend(words, query, key, value, by_words);
    //! [words]
    require(difference(by_words, result) < 1e-5f, "the words say the same");
}

/// Which of 24 x 24 pairs a mask shows.
template <class Mask>
tensor<float, 2> shown(Mask const& mask) {
    tensor<float, 2> const x({24, 1});
    tensor<float, 2> result({24, 1}), share({24, 24});
    reference::attend(dot | mask | softmax | weighted_sum, x, result, weights(share));
    for (auto& w : share) w = w > 0;
    return share;
}

template <class Ported, class Word>
void same(Ported const& mask_mod, Word const& word) {
    auto const pairs = shown(word);
    auto const visible = std::count(pairs.begin(), pairs.end(), 1.f);
    require(visible > 0 && visible < 24 * 24, "the mask shows some of the pairs");
    require(shown(where(mask_mod)).elements == pairs.elements, "and the same as its mask_mod");
}

void masks() {
    std::vector<int> ids(24, 0);  // two documents
    std::fill(ids.begin() + 10, ids.end(), 1);
    tensor<std::uint8_t, 2> seen({3, 3}, 1);  // blocks of 8 queries and 8 keys
    seen(0, 2) = seen(2, 0) = 0;
    //! [masks]
    auto const document_id = param(ids);
    same([](auto, auto, auto q_idx, auto kv_idx) { return q_idx >= kv_idx; }, causal);
    same([](auto, auto, auto q_idx, auto kv_idx) { return kv_idx < 5 || q_idx >= kv_idx; }, prefix_lm(5));
    same([&](auto, auto, auto q_idx, auto kv_idx) { return document_id[q_idx] == document_id[kv_idx]; }, document(ids));
    same([](auto, auto, auto q_idx, auto kv_idx) { return q_idx - kv_idx <= 4 && kv_idx - q_idx <= 2; },
         sliding_window(4, 2));
    same([&](auto, auto, auto q_idx, auto kv_idx) { return param(seen)(q_idx / 8, kv_idx / 8) != 0; },
         block_list(seen, 8, 8));
    same([](auto, auto, auto q_idx, auto kv_idx) { return kv_idx < 5 || !(kv_idx > q_idx); },
         causal || where(kv_idx < 5));
    //! [masks]
}

}  // namespace

int main() {
    port();
    masks();
}
