// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoding: each token attends to a cache of keys and values that has just got its own.
#include <fovea/fovea.hpp>

#include <cmath>
#include <cstdio>

using namespace fovea;

int main() {
    index_t const heads = 8, key_heads = 2, capacity = 128, d = 32;
    tensor<float, 4> keys({1, key_heads, capacity, d}), values(keys.extents);
    tensor<float, 4> query({1, heads, 1, d}), result(query.extents);
    workspace scratch;  // kept, so that a step allocates nothing
    constexpr auto step = scaled_dot | causal_at_end | softmax | weighted_sum;

    for (index_t token = 0; token < 100; ++token) {
        for (index_t c = 0; c < d; ++c) {  // a model would project its hidden state here
            for (index_t h = 0; h < key_heads; ++h) {
                keys(0, h, token, c) = std::sin(static_cast<float>(token * (c + h)));
                values(0, h, token, c) = static_cast<float>(token);
            }
            for (index_t h = 0; h < heads; ++h) query(0, h, 0, c) = std::sin(static_cast<float>(token * (c + h / 4)));
        }
        view<float const, 4> const k(keys.data(), {1, key_heads, token + 1, d}, keys.view().strides);
        view<float const, 4> const v(values.data(), {1, key_heads, token + 1, d}, values.view().strides);
        attend(scratch, step, query, k, v, result);
        double const place = double{result(0, 0, 0, 0)};  // every value is the number of its token
        if (token % 33 == 0) std::printf("token %2d looks, on average, at token %.1f\n", int(token), place);
    }
}
// prints
// token  0 looks, on average, at token 0.0
// token 33 looks, on average, at token 22.1
// token 66 looks, on average, at token 34.0
// token 99 looks, on average, at token 52.7
