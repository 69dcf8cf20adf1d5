// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout of attention weights: which weights it drops, and that nothing but the seed decides.
#include "check.hpp"

#include <string>

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

//! [dropout]
/// Drops each weight with probability `rate` and scales the others, so that the expected result stays the same.
auto attention_with_dropout(float rate, index_t seed) {
    auto const factor = select(random(seed) < rate, 0, 1 / (1 - rate));
    return scaled_dot | causal | softmax | reweight(weight * factor) | weighted_sum;
}
//! [dropout]

int main() {
    index_t const heads = 4, positions = 64, seed = 11;
    auto const query = random_tensor<4>({2, heads, positions, 16}), key = random_tensor<4>({2, heads, positions, 16}),
               value = random_tensor<4>({2, heads, positions, 16});
    tensor<float, 4> result(query.extents), same(query.extents), other(query.extents), without(query.extents);
    tensor<float, 4> kept({2, heads, positions, positions}), all(kept.extents);

    //! [training]
    float const rate = 0.25f;
    attend(attention_with_dropout(rate, seed), query, key, value, result);
    //! [training]
    attend(threads(4), attention_with_dropout(rate, seed), query, key, value, same);
    require(result.elements == same.elements, "a seed gives the same bits again, with any number of threads");
    attend(attention_with_dropout(rate, seed + 1), query, key, value, other);
    require(result.elements != other.elements, "another seed drops others");
    //! [again]
    attend(attention_with_dropout(rate, seed), query, key, value, same, weights(kept));
    //! [again]
    require(difference(same, result) < 1e-6f, "weights that are asked for are those of the result");

    //! [evaluation]
    attend(attention_with_dropout(0, seed), query, key, value, without);
    //! [evaluation]
    attend(attention_with_dropout(0, seed), query, key, value, same, weights(all));
    index_t dropped = 0, visible = 0;
    for (std::size_t i = 0; i < all.elements.size(); ++i) {
        if (all.elements[i] == 0) continue;
        ++visible;
        if (kept.elements[i] == 0) ++dropped;
        else require(std::abs(kept.elements[i] * (1 - rate) - all.elements[i]) < 1e-6f, "what is kept is scaled");
    }
    double const share = static_cast<double>(dropped) / static_cast<double>(visible);
    require(visible == 2 * heads * positions * (positions + 1) / 2, "a rate of 0 drops nothing");
    require(std::abs(share - 0.25) < 0.02, "the share of dropped weights is the rate");

    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        return j > i ? minus_infinity : product(query, key, b, h, i, j) / 4;
    };
    require(difference(without, plain_attention(score, heads, positions, value)) < 1e-6f,
            "without dropout it is softmax attention");

    auto const factor = attention_with_dropout(rate, seed);
    auto const other_form = scaled_dot | causal | softmax
                          | reweight(select(random(seed) < rate, 0, weight / (1 - rate))) | weighted_sum;
    std::string const streaming = explain(factor, query, key, value), whole = explain(other_form, query, key, value);
    require(streaming.find("streaming") != std::string::npos, "a factor on the weight is applied tile by tile");
    require(whole.find("whole rows") != std::string::npos, "any other expression of the weight needs whole rows");
}
