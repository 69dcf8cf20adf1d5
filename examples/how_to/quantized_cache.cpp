// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache in 8 bits with a scale for each key and value, held to attention over the numbers that it stands for.
#include "check.hpp"

#include <cstdint>

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

//! [quantize]
/// Rows in 8 bits: element = scale * integer, with a scale for each row that makes its largest element 127.
struct quantized {
    tensor<std::int8_t, 4> rows;  // (batch, head, position, feature)
    tensor<float, 3> scales;      // (batch, head, position)
};

quantized quantize(view<float const, 4> x) {
    quantized to{tensor<std::int8_t, 4>(x.extents), tensor<float, 3>({x.extent(0), x.extent(1), x.extent(2)})};
    for (index_t b = 0; b < x.extent(0); ++b)
        for (index_t h = 0; h < x.extent(1); ++h)
            for (index_t j = 0; j < x.extent(2); ++j) {
                float largest = 0;
                for (index_t c = 0; c < x.extent(3); ++c) largest = std::max(largest, std::abs(x(b, h, j, c)));
                float const scale = to.scales(b, h, j) = largest > 0 ? largest / 127 : 1;
                for (index_t c = 0; c < x.extent(3); ++c)
                    to.rows(b, h, j, c) = static_cast<std::int8_t>(std::lround(x(b, h, j, c) / scale));
            }
    return to;
}
//! [quantize]

tensor<float, 4> dequantized(quantized const& from) {
    tensor<float, 4> x(from.rows.extents);
    for (index_t b = 0; b < x.extent(0); ++b)
        for (index_t h = 0; h < x.extent(1); ++h)
            for (index_t j = 0; j < x.extent(2); ++j)
                for (index_t c = 0; c < x.extent(3); ++c)
                    x(b, h, j, c) = from.scales(b, h, j) * static_cast<float>(from.rows(b, h, j, c));
    return x;
}

void decode(index_t queries) {
    index_t const kept = 41;
    auto const query = random_tensor<4>({2, 8, queries, 32});
    auto const keys = random_tensor<4>({2, 2, kept, 32}), values = random_tensor<4>({2, 2, kept, 32});
    tensor<float, 4> result(query.extents), exact(query.extents);
    //! [decode]
    auto const key = quantize(keys), value = quantize(values);  // 2 heads of keys, which 8 query heads share
    auto const of_key = param(key.scales)[batch][head / 4][kv_idx];
    auto const of_value = param(value.scales)[batch][head / 4][kv_idx];
    auto const decoding = scaled_dot | rescore(score * of_key)  // before anything else that reads the score
                        | causal_at_end | softmax | reweight(weight * of_value) | weighted_sum;
    attend(decoding, query, key.rows, value.rows, result);
    //! [decode]

    auto const plain_key = dequantized(key), plain_value = dequantized(value);
    auto const score_of = [&](index_t b, index_t h, index_t i, index_t j) {
        if (j > i + kept - queries) return minus_infinity;
        return product(query, plain_key, b, h, i, j) / std::sqrt(32.0);
    };
    require(difference(result, plain_attention(score_of, 8, queries, plain_value)) < 2e-6f,
            "scores and weights with scales are those of the numbers that the cache stands for");
    attend(scaled_dot | causal_at_end | softmax | weighted_sum, query, keys, values, exact);
    require(difference(result, exact) < 0.02f, "and near those that were rounded to 8 bits");
}

/// Scales for pages instead of keys: a page is the number of a key divided by the size of a page.
void scale_of_a_page() {
    index_t const kept = 40, page = 8;
    auto const query = random_tensor<4>({1, 2, 4, 16}), values = random_tensor<4>({1, 2, kept, 16});
    tensor<std::int8_t, 4> key({1, 2, kept, 16});
    for (index_t i = 0; auto& x : key) x = static_cast<std::int8_t>(i++ * 37 % 251 - 125);
    tensor<float, 1> scales({kept / page});
    for (index_t p = 0; auto& x : scales) x = 0.01f + 0.002f * static_cast<float>(p++);
    tensor<float, 4> result(query.extents), plain_key(key.extents);
    //! [page]
    auto const of_page = param(scales)[kv_idx / page];
    attend(scaled_dot | rescore(score * of_page) | softmax | weighted_sum, query, key, values, result);
    //! [page]
    auto const score_of = [&](index_t b, index_t h, index_t i, index_t j) {
        double sum = 0;
        for (index_t c = 0; c < 16; ++c) sum += static_cast<double>(query(b, h, i, c)) * key(b, h, j, c);
        return sum * static_cast<double>(scales(j / page)) / 4;
    };
    require(difference(result, plain_attention(score_of, 2, 4, values)) < 2e-6f, "keys of a page share a scale");
}

}  // namespace

int main() {
    decode(1);
    decode(19);
    scale_of_a_page();
}
