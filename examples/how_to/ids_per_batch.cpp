// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packed documents whose ids differ from one element of the batch to the next, in self and in cross attention.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

tensor<int, 2> table(extents_t<2> extents, std::vector<int> elements) {
    tensor<int, 2> t(extents);
    t.elements = std::move(elements);
    return t;
}

void self_attention() {
    auto const x = random_tensor<4>({2, 3, 10, 16});
    tensor<float, 4> result(x.extents);
    //! [ids]
    // (batch, position): two rows of packed documents; -1 is padding
    tensor<int, 2> const ids = table({2, 10}, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2,
                                               5, 5, 7, 7, 7, 7, 7, -1, -1, -1});
    auto const id = param(ids);
    auto const packed = scaled_dot | causal
                      | where(id[batch][q_idx] == id[batch][kv_idx] && id[batch][q_idx] >= 0)
                      | softmax | weighted_sum;
    attend(packed, x, result);
    //! [ids]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        bool const visible = j <= i && ids(b, i) == ids(b, j) && ids(b, i) >= 0;
        return visible ? product(x, x, b, h, i, j) / 4 : minus_infinity;
    };
    require(difference(result, plain_attention(score, 3, 10, x)) < 1e-6f, "tokens see their own document");
    require(result(1, 0, 8, 0) == 0, "padding gets zeros");
}

void cross_attention() {
    auto const x = random_tensor<4>({2, 3, 4, 16}), key = random_tensor<4>({2, 3, 6, 16});
    tensor<float, 4> result(x.extents);
    //! [cross]
    tensor<int, 2> const sentence = table({2, 4}, {0, 0, 1, 1, 3, 3, 3, 4});
    tensor<int, 2> const image = table({2, 6}, {0, 0, 0, 1, 1, 1, 3, 4, 4, 4, 4, 4});
    tensor<float, 1> temperatures({2}, 0.5f);
    temperatures(1) = 2;
    auto const own_image = scaled_dot | temperature(param(temperatures)[batch])  // a number for each element
                         | where(param(sentence)[batch][q_idx] == param(image)[batch][kv_idx])
                         | softmax | weighted_sum;
    attend(own_image, x, key, key, result);
    //! [cross]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        bool const visible = sentence(b, i) == image(b, j);
        return visible ? product(x, key, b, h, i, j) / 4 / static_cast<double>(temperatures(b)) : minus_infinity;
    };
    require(difference(result, plain_attention(score, 3, 4, key)) < 1e-6f, "a sentence sees its own image");
}

}  // namespace

int main() {
    self_attention();
    cross_attention();
}
