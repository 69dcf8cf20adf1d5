// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attention of Swin Transformer V2 from its paper, in five steps.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

int main() {
    constexpr index_t heads = 3, side = 4, window = side * side, positions = 5 * window, features = 16;
    auto const query = random_tensor<4>({1, heads, positions, features});
    auto const key = random_tensor<4>({1, heads, positions, features});
    auto const value = random_tensor<4>({1, heads, positions, features});
    tensor<float, 4> result(value.extents);

    //! [operands]
    tensor<float, 1> tau({heads}, 0.1f);                                           // (head)
    auto const bias = random_tensor<2>({heads, (2 * side - 1) * (2 * side - 1)});  // (head, displacement)
    //! [operands]
    tau(1) = 0.5f;

    //! [score]
    auto const similarity = cosine | temperature(param(tau)[head]);
    //! [score]

    //! [bias]
    auto const down = q_idx / side % side - kv_idx / side % side;
    auto const right = q_idx % side - kv_idx % side;
    auto const displacement = (down + side - 1) * (2 * side - 1) + right + side - 1;
    auto const swin = similarity | rescore(score + param(bias)[head][displacement])
    //! [bias]
    //! [rest]
                    | chunked(window)  // positions of a window follow one another
                    | softmax | weighted_sum;
    attend(swin, query, key, value, result);
    //! [rest]

    //! [check]
    tensor<double, 4> expected(value.extents);
    reference::attend(swin, query, key, value, expected);  // the definition, in double
    for (index_t i = 0; i < result.size(); ++i)
        require(std::abs(static_cast<double>(result.data()[i]) - expected.data()[i]) < 1e-5, "fused as defined");
    //! [check]

    auto const norm = [&](tensor<float, 4> const& x, index_t h, index_t i) {
        return std::sqrt(product(x, x, 0, h, i, i));
    };
    auto const plain = [&](index_t b, index_t h, index_t i, index_t j) {
        if (i / window != j / window) return minus_infinity;
        index_t const dy = i / side % side - j / side % side, dx = i % side - j % side;
        return product(query, key, b, h, i, j) / (norm(query, h, i) * norm(key, h, j) * static_cast<double>(tau(h)))
             + static_cast<double>(bias(h, (dy + side - 1) * (2 * side - 1) + dx + side - 1));
    };
    require(difference(result, plain_attention(plain, heads, positions, value)) < 1e-5f, "what the paper says");

    //! [explain]
    auto const text = explain(swin, query, key, value);
    require(text.find("1 matrix product") != std::string::npos, "the cosine is a product");
    //! [explain]
}
