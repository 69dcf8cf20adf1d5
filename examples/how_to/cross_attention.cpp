// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A decoder that looks at what an encoder made: projected in the call, and projected once for many calls.
#include "check.hpp"

using namespace fovea;
using namespace how_to;

namespace {

/// Rows times a matrix: what an engine's matrix product does.
tensor<float, 3> times(tensor<float, 3> const& x, tensor<float, 2> const& matrix) {
    tensor<float, 3> y({x.extent(0), x.extent(1), matrix.extent(1)});
    for (index_t b = 0; b < y.extent(0); ++b)
        for (index_t i = 0; i < y.extent(1); ++i)
            for (index_t n = 0; n < x.extent(2); ++n)
                for (index_t c = 0; c < y.extent(2); ++c) y(b, i, c) += x(b, i, n) * matrix(n, c);
    return y;
}

/// The same array, (batch, position, heads * size), as (batch, head, position, size).
view<float const, 4> in_heads(tensor<float, 3> const& x, index_t heads) {
    index_t const size = x.extent(2) / heads, row = x.extent(2);
    return {x.data(), {x.extent(0), heads, x.extent(1), size}, {x.extent(1) * row, size, row, 1}};
}

}  // namespace

int main() {
    auto const decoded = random_tensor<3>({2, 7, 32});  // (batch, position, feature)
    auto encoded = random_tensor<3>({2, 11, 48});       // other positions, another width
    auto const Wq = random_tensor<2>({32, 32}), Wk = random_tensor<2>({48, 32}), Wv = random_tensor<2>({48, 32}),
               Wo = random_tensor<2>({32, 32});
    tensor<float, 3> result(decoded.extents), again(decoded.extents), spoilt(decoded.extents);

    //! [cross]
    std::vector<int> const lengths{11, 6};  // the second sequence is padded
    auto const cross = project(Wq, Wk, Wv, heads<4>)
                     | scaled_dot | key_lengths(lengths) | softmax | weighted_sum
                     | output(Wo) | residual;
    attend(cross, queries(decoded), memory(encoded), result);
    //! [cross]

    //! [once]
    auto const keys = times(encoded, Wk), values = times(encoded, Wv);  // once, when the encoder is done
    auto const step = project(Wq, as_is, as_is, heads<4>)
                    | scaled_dot | key_lengths(lengths) | softmax | weighted_sum
                    | output(Wo) | residual;
    attend(step, decoded, keys, values, again);  // in every step of the decoder
    //! [once]
    require(difference(again, result) < 1e-4f, "keys and values made beforehand give the same");

    auto const q = times(decoded, Wq);
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        bool const padding = j >= lengths[static_cast<std::size_t>(b)];
        return padding ? minus_infinity : product(in_heads(q, 4), in_heads(keys, 4), b, h, i, j) / std::sqrt(8.0);
    };
    auto const heads_apart = plain_attention(score, 4, 7, in_heads(values, 4));
    tensor<float, 3> side_by_side(decoded.extents);
    for (index_t b = 0; b < 2; ++b)
        for (index_t i = 0; i < 7; ++i)
            for (index_t c = 0; c < 32; ++c) side_by_side(b, i, c) = heads_apart(b, c / 8, i, c % 8);
    auto expected = times(side_by_side, Wo);
    for (std::size_t i = 0; i < expected.elements.size(); ++i) expected.elements[i] += decoded.elements[i];
    require(difference(result, expected) < 1e-4f, "cross attention is what the loops compute");

    for (index_t i = 6; i < 11; ++i)
        for (index_t c = 0; c < 48; ++c) encoded(1, i, c) = std::numeric_limits<float>::quiet_NaN();
    attend(cross, queries(decoded), memory(encoded), spoilt);
    require(difference(spoilt, result) < 1e-5f, "what lies in the padding does not matter");
}
