// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multi-head latent attention: keys and values expanded for each head, and absorbed into queries and output.
#include "check.hpp"

using namespace fovea;
using namespace how_to;

int main() {
    index_t const heads = 4, positions = 21, size = 16, turned = 8, latent = 24;  // features of a head, and of a latent
    auto const query = random_tensor<4>({1, heads, positions, size}),
               query_turned = random_tensor<4>({1, heads, positions, turned});
    auto const up_key = random_tensor<3>({heads, latent, size}), up_value = random_tensor<3>({heads, latent, size});
    auto const cache = random_tensor<3>({1, positions, latent + turned});  // all that is kept of a token

    // Expanded: each head has keys and values of its own.
    tensor<float, 4> q({1, heads, positions, size + turned}), k(q.extents), v(query.extents), expanded(query.extents);
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i) {
            for (index_t c = 0; c < size; ++c) {
                q(0, h, i, c) = query(0, h, i, c);
                for (index_t r = 0; r < latent; ++r) {
                    k(0, h, i, c) += cache(0, i, r) * up_key(h, r, c);
                    v(0, h, i, c) += cache(0, i, r) * up_value(h, r, c);
                }
            }
            for (index_t c = 0; c < turned; ++c) {
                q(0, h, i, size + c) = query_turned(0, h, i, c);
                k(0, h, i, size + c) = cache(0, i, latent + c);
            }
        }
    //! [expanded]
    float const scale = 1 / std::sqrt(static_cast<float>(size + turned));
    auto const mla = scaled_by(scale) | causal_at_end | softmax | weighted_sum;
    attend(mla, q, k, v, expanded);
    //! [expanded]

    // Absorbed: q (c U)^T = (q U^T) c^T.
    //! [queries]
    tensor<float, 4> absorbed({1, heads, positions, latent + turned});
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i) {
            for (index_t r = 0; r < latent; ++r)
                for (index_t c = 0; c < size; ++c) absorbed(0, h, i, r) += query(0, h, i, c) * up_key(h, r, c);
            for (index_t c = 0; c < turned; ++c) absorbed(0, h, i, latent + c) = query_turned(0, h, i, c);
        }
    //! [queries]
    tensor<float, 4> sums({1, heads, positions, latent}), result(query.extents);
    //! [absorbed]
    index_t const row = latent + turned;
    view<float const, 4> const keys(cache.data(), {1, 1, positions, row}, {positions * row, 0, row, 1});
    view<float const, 4> const values(cache.data(), {1, 1, positions, latent}, {positions * row, 0, row, 1});
    attend(mla, absorbed, keys, values, sums);  // one head of keys, and values that are part of them
    //! [absorbed]
    //! [result]
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i)
            for (index_t r = 0; r < latent; ++r)
                for (index_t c = 0; c < size; ++c) result(0, h, i, c) += sums(0, h, i, r) * up_value(h, r, c);
    //! [result]
    require(difference(result, expanded) < 1e-4f, "absorbed is expanded");

    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        return j > i ? minus_infinity : product(q, k, b, h, i, j) / std::sqrt(static_cast<double>(size + turned));
    };
    require(difference(expanded, plain_attention(score, heads, positions, v)) < 1e-5f,
            "expanded is what the loops compute");

    //! [decode]
    view<float const, 4> const newest(&absorbed(0, 0, positions - 1, 0), {1, heads, 1, row}, absorbed.view().strides);
    tensor<float, 4> last({1, heads, 1, latent});
    attend(mla, newest, keys, values, last);
    //! [decode]
    float worst = 0;
    for (index_t h = 0; h < heads; ++h)
        for (index_t r = 0; r < latent; ++r)
            worst = std::max(worst, std::abs(last(0, h, 0, r) - sums(0, h, positions - 1, r)));
    require(worst < 1e-5f, "the newest token alone gets the same");
}
