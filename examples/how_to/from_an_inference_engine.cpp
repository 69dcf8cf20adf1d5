// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The attention operators of three inference engines, each a specification over tensors in the layout of the engine.
#include "check.hpp"

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

constexpr index_t size = 32, heads = 8, key_heads = 2;

//! [ggml]
/// ggml_flash_attn_ext: queries of float over a cache of any type, and a mask of float16, of which -infinity hides a pair.
/// The axes are those of ggml read backwards: (batch, head, position, feature), mask (batch, head, query, key).
template <class Keys, class Values>
void flash_attn_ext(view<float const, 4> query, Keys const& keys, Values const& values, view<float16 const, 4> mask,
                    float scale, float logit_softcap, view<float, 4> result) {
    if (logit_softcap == 0) attend(scaled_by(scale) | bias(mask) | softmax | weighted_sum, query, keys, values, result);
    else
        attend(scaled_by(scale) | softcap(logit_softcap) | bias(mask) | softmax | weighted_sum, query, keys, values,
               result);
}
//! [ggml]

void of_ggml() {
    constexpr index_t queries = 5, positions = 70;
    auto const query = random_tensor<4>({1, heads, queries, size}), key = random_tensor<4>({1, key_heads, positions, size}),
               value = random_tensor<4>({1, key_heads, positions, size});
    std::vector<q8_0> cache(key_heads * positions * size / 32);
    view<q8_0, 4> const keys(cache.data(), {1, key_heads, positions, size / 32});
    store(keys, key.view(), 0);
    tensor<float16, 4> mask({1, 1, queries, positions});
    for (index_t i = 0; i < queries; ++i)
        for (index_t j = 0; j < positions; ++j)
            mask(0, 0, i, j) = float16(j <= i + positions - queries ? 0.0f : -std::numeric_limits<float>::infinity());
    tensor<float, 4> result(query.extents);
    flash_attn_ext(query, quantized(keys), value, mask, 0.25f, 10, result);

    auto const rows = quantized(keys);
    auto const score = [&](index_t, index_t h, index_t i, index_t j) {
        if (j > i + positions - queries) return minus_infinity;
        double sum = 0;
        for (index_t c = 0; c < size; ++c)
            sum += static_cast<double>(query(0, h, i, c)) * static_cast<double>(rows(0, h / 4, j, c));
        return 10 * std::tanh(0.25 * sum / 10);
    };
    require(difference(result, plain_attention(score, heads, queries, value)) < 1e-6f, "ggml_flash_attn_ext");
}

//! [onnx]
/// GroupQueryAttention of ONNX Runtime, after the new keys have been written to present_key and present_value.
///
/// query: (batch, token, head * size), present_*: (batch, key head, position, size), seqlens_k: (batch), the positions
/// that each sequence has, less 1.
void group_query_attention(view<float const, 3> query, view<float const, 4> present_key,
                           view<float const, 4> present_value, view<std::int32_t const, 1> seqlens_k,
                           index_t local_window_size, view<float, 3> output) {
    index_t const batches = query.extent(0), tokens = query.extent(1);
    extents_t<4> const extents{batches, heads, tokens, size}, strides{tokens * heads * size, size, heads * size, 1};
    auto const position = q_idx + param(seqlens_k)[batch] + 1 - q_len;  // of a query in its sequence
    auto const spec = scaled_dot | where(kv_idx <= position && position - kv_idx < local_window_size) | softmax | weighted_sum;
    attend(spec, view<float const, 4>(query.data, extents, strides), present_key, present_value,
           view<float, 4>(output.data, extents, strides));
}
//! [onnx]

void of_onnx() {
    constexpr index_t tokens = 3, positions = 40, window = 9;
    auto const query = random_tensor<3>({2, tokens, heads * size});
    auto const key = random_tensor<4>({2, key_heads, positions, size}), value = random_tensor<4>(key.extents);
    std::vector<std::int32_t> const seqlens_k{22, 6};
    tensor<float, 3> output(query.extents);
    group_query_attention(query, key, value, {seqlens_k.data(), {2}}, window, output);

    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        index_t const back = i + seqlens_k[static_cast<std::size_t>(b)] + 1 - tokens - j;
        if (back < 0 || back >= window) return minus_infinity;
        double sum = 0;
        for (index_t c = 0; c < size; ++c)
            sum += static_cast<double>(query(b, i, h * size + c)) * static_cast<double>(key(b, h / 4, j, c));
        return sum / std::sqrt(32.0);
    };
    auto const expected = plain_attention(score, heads, tokens, value);
    float worst = 0;
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < heads; ++h)
            for (index_t i = 0; i < tokens; ++i)
                for (index_t c = 0; c < size; ++c)
                    worst = std::max(worst, std::abs(output(b, i, h * size + c) - expected(b, h, i, c)));
    require(worst < 1e-6f, "GroupQueryAttention");
}

//! [vllm]
/// Paged attention as vLLM calls FlashAttention for decoding: one query for each sequence.
///
/// query, output: (sequence, head, size), key_cache, value_cache: (block, slot, key head, size), block_tables:
/// (sequence, block), seq_lens: (sequence), alibi_slopes: (head).
void paged_attention(view<float const, 3> query, view<bfloat16 const, 4> key_cache, view<bfloat16 const, 4> value_cache,
                     view<std::int32_t const, 2> block_tables, view<std::int32_t const, 1> seq_lens,
                     view<float const, 1> alibi_slopes, view<float, 3> output) {
    auto const pages = [&](view<bfloat16 const, 4> const& cache) {  // (page, head, slot, feature)
        auto const& [blocks, slots, of, features] = cache.extents;
        return paged(view<bfloat16 const, 4>(cache.data, {blocks, of, slots, features},
                                             {cache.stride(0), cache.stride(2), cache.stride(1), 1}),
                     block_tables);
    };
    extents_t<4> const extents{query.extent(0), heads, 1, size}, strides{heads * size, size, heads * size, 1};
    auto const biased = scaled_dot | rescore(score + param(alibi_slopes)[head] * (kv_idx + 1 - param(seq_lens)[batch]));
    attend(biased | key_lengths(seq_lens) | softmax | weighted_sum, view<float const, 4>(query.data, extents, strides),
           pages(key_cache), pages(value_cache), view<float, 4>(output.data, extents, strides));
}
//! [vllm]

void of_vllm() {
    constexpr index_t slots = 16, blocks = 6;
    auto const query = random_tensor<3>({2, heads, size});
    tensor<bfloat16, 4> keys({blocks, slots, key_heads, size}), values(keys.extents);
    auto const numbers = random_tensor<4>({2 * blocks, slots, key_heads, size});
    for (index_t i = 0; i < keys.size(); ++i) {
        keys.data()[i] = bfloat16(numbers.data()[i]);
        values.data()[i] = bfloat16(numbers.data()[keys.size() + i]);
    }
    std::vector<std::int32_t> const tables{4, 0, 3, 5, -1, -1}, lengths{41, 7};  // 3 blocks, and 1
    auto const slopes = random_tensor<1>({heads});
    tensor<float, 3> output(query.extents);
    paged_attention(query, keys, values, {tables.data(), {2, 3}}, {lengths.data(), {2}}, slopes, output);

    tensor<float, 4> in_order({2, key_heads, 3 * slots, size}), key_of(in_order.extents);
    for (index_t b = 0; b < 2; ++b)
        for (index_t j = 0; j < lengths[static_cast<std::size_t>(b)]; ++j)
            for (index_t h = 0; h < key_heads; ++h)
                for (index_t c = 0; c < size; ++c) {
                    index_t const block = tables[static_cast<std::size_t>(3 * b + j / slots)];
                    in_order(b, h, j, c) = values(block, j % slots, h, c);
                    key_of(b, h, j, c) = keys(block, j % slots, h, c);
                }
    auto const score = [&](index_t b, index_t h, index_t, index_t j) {
        index_t const length = lengths[static_cast<std::size_t>(b)];
        if (j >= length) return minus_infinity;
        double sum = 0;
        for (index_t c = 0; c < size; ++c)
            sum += static_cast<double>(query(b, h, c)) * static_cast<double>(key_of(b, h / 4, j, c));
        return sum / std::sqrt(32.0) + static_cast<double>(slopes.data()[h]) * static_cast<double>(j + 1 - length);
    };
    auto const expected = plain_attention(score, heads, 1, in_order);
    float worst = 0;
    for (index_t i = 0; i < output.size(); ++i)
        worst = std::max(worst, std::abs(output.data()[i] - expected.data()[i]));
    require(worst < 1e-5f, "paged attention");
}

}  // namespace

int main() {
    of_ggml();
    of_onnx();
    of_vllm();
}
