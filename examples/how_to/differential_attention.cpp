// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Differential attention: the difference of two attentions over the same values.
#include "check.hpp"

using namespace fovea;
using namespace how_to;

namespace {

//! [differential]
/// (softmax(Q1 K1^T / sqrt(d)) - lambda softmax(Q2 K2^T / sqrt(d))) V, causal.
///
/// query and key are (batch, position, head, 2, d), value (batch, position, head, v), as the projections make them.
void differential_attention(view<float const, 5> query, view<float const, 5> key, view<float const, 4> value,
                            float lambda, tensor<float, 4>& result, tensor<float, 4>& subtracted) {
    constexpr auto half = scaled_dot | causal | softmax | weighted_sum;
    auto const in_heads = [](view<float const, 5> x, index_t which) {  // (batch, head, position, d)
        return view<float const, 4>(&x(0, 0, 0, which, 0), {x.extent(0), x.extent(2), x.extent(1), x.extent(4)},
                                    {x.stride(0), x.stride(2), x.stride(1), 1});
    };
    view<float const, 4> const values(value.data, {value.extent(0), value.extent(2), value.extent(1), value.extent(3)},
                                      {value.stride(0), value.stride(2), value.stride(1), 1});
    attend(half, in_heads(query, 0), in_heads(key, 0), values, result);
    attend(half, in_heads(query, 1), in_heads(key, 1), values, subtracted);
    for (std::size_t i = 0; i < result.elements.size(); ++i) result.elements[i] -= lambda * subtracted.elements[i];
}
//! [differential]

}  // namespace

int main() {
    index_t const heads = 3, positions = 19, d = 8;
    auto const query = random_tensor<5>({2, positions, heads, 2, d}), key = random_tensor<5>(query.extents);
    auto const value = random_tensor<4>({2, positions, heads, 2 * d});
    tensor<float, 4> result({2, heads, positions, 2 * d}), scratch(result.extents), expected(result.extents);
    float const lambda = 0.8f;
    differential_attention(query, key, value, lambda, result, scratch);

    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < heads; ++h)
            for (index_t i = 0; i < positions; ++i) {
                double weight[2][positions], total[2] = {};
                for (int s = 0; s < 2; ++s)
                    for (index_t j = 0; j <= i; ++j) {
                        double dot = 0;
                        for (index_t c = 0; c < d; ++c)
                            dot += static_cast<double>(query(b, i, h, s, c)) * static_cast<double>(key(b, j, h, s, c));
                        total[s] += weight[s][j] = std::exp(dot / std::sqrt(static_cast<double>(d)));
                    }
                for (index_t c = 0; c < 2 * d; ++c) {
                    double sum = 0;
                    for (index_t j = 0; j <= i; ++j)
                        sum += (weight[0][j] / total[0] - static_cast<double>(lambda) * weight[1][j] / total[1])
                             * static_cast<double>(value(b, j, h, c));
                    expected(b, h, i, c) = static_cast<float>(sum);
                }
            }
    require(difference(result, expected) < 1e-6f, "it is what the loops compute");

    //! [one_call]
    index_t const row = heads * 2 * d;  // of queries and keys of one sequence; the halves are batch elements of a call
    extents_t<4> const halves{2, heads, positions, d}, strides{d, 2 * d, row, 1};
    view<float const, 4> const repeated(value.data(), {2, heads, positions, 2 * d}, {0, 2 * d, row, 1});
    tensor<float, 4> both({2, heads, positions, 2 * d});
    attend(scaled_dot | causal | softmax | weighted_sum, view<float const, 4>(query.data(), halves, strides),
           view<float const, 4>(key.data(), halves, strides), repeated, both);
    //! [one_call]
    float worst = 0;
    for (index_t h = 0; h < heads; ++h)
        for (index_t i = 0; i < positions; ++i)
            for (index_t c = 0; c < 2 * d; ++c)
                worst = std::max(worst, std::abs(both(0, h, i, c) - lambda * both(1, h, i, c) - result(0, h, i, c)));
    require(worst < 1e-6f, "one call for both halves of a sequence gives the same");

    auto same_query = query, same_key = key;  // both halves alike: the difference is nothing
    for (index_t b = 0; b < 2; ++b)
        for (index_t i = 0; i < positions; ++i)
            for (index_t h = 0; h < heads; ++h)
                for (index_t c = 0; c < d; ++c) {
                    same_query(b, i, h, 1, c) = query(b, i, h, 0, c);
                    same_key(b, i, h, 1, c) = key(b, i, h, 0, c);
                }
    differential_attention(same_query, same_key, value, 1, result, scratch);
    require(std::count(result.begin(), result.end(), 0.f) == result.size(), "equal halves with lambda 1 give zeros");
}
