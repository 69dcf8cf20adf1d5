// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decoding with a cache: a prompt, then token by token, held to one causal call over everything.
#include "check.hpp"

#include <fovea/kv_cache.hpp>

using namespace fovea;
using namespace fovea::placeholders;
using namespace how_to;

namespace {

//! [positions]
/// Positions first to first + count of an array: the strides stay those of the whole array.
template <class T>
view<T, 4> positions(view<T, 4> all, index_t first, index_t count) {
    all.data += first * all.stride(2);
    all.extents[2] = count;
    return all;
}
//! [positions]

void copy(view<float const, 4> from, view<float, 4> to) {
    for (index_t b = 0; b < to.extent(0); ++b)
        for (index_t h = 0; h < to.extent(1); ++h)
            for (index_t i = 0; i < to.extent(2); ++i)
                for (index_t c = 0; c < to.extent(3); ++c) to(b, h, i, c) = from(b, h, i, c);
}

index_t constexpr tokens = 24, prompt = 10;

/// A cache in five steps: blocks of 8 bits in pages.
void five_steps() {
    auto const query = random_tensor<4>({1, 8, tokens, 32}), key = random_tensor<4>({1, 2, tokens, 32}),
               value = random_tensor<4>({1, 2, tokens, 32});  // 8 query heads share 2 of keys
    tensor<float, 4> result(query.extents), whole(query.extents);
    auto const keys = [&](index_t first, index_t count) { return positions(key.view(), first, count); };
    auto const values = [&](index_t first, index_t count) { return positions(value.view(), first, count); };
    auto const queries = [&](index_t first, index_t count) { return positions(query.view(), first, count); };
    auto const results = [&](index_t first, index_t count) { return positions(result.view(), first, count); };
    //! [create]
    kv_cache<q8_0> cache({.heads = 2, .key_features = 32, .value_features = 32, .pages = 64, .page_size = 16});
    //! [create]
    //! [prompt]
    auto const sequence = cache.add();
    cache.append(sequence, keys(0, prompt), values(0, prompt));  // (1, head, position, feature)
    //! [prompt]
    //! [attend]
    workspace scratch;  // kept: repeated calls allocate nothing in attend
    auto const attend_to_cache = [&](view<float const, 4> const& of, view<float, 4> const& to) {
        auto const rows = cache.batch({&sequence, 1});
        auto const past = rows.past(of.extent(2));  // positions before the first query
        attend(scratch, scaled_dot | causal_from(past) | softmax | weighted_sum, of, rows.keys(), rows.values(), to);
    };
    attend_to_cache(queries(0, prompt), results(0, prompt));
    //! [attend]
    //! [token]
    for (index_t n = prompt; n < tokens; ++n) {
        cache.append(sequence, keys(n, 1), values(n, 1));  // first: a token attends to itself
        attend_to_cache(queries(n, 1), results(n, 1));
    }
    //! [token]
    //! [end]
    cache.truncate(sequence, tokens - 3);  // the last three tokens are taken back
    cache.remove(sequence);                // its pages are free for others
    //! [end]
    attend(scaled_dot | causal | softmax | weighted_sum, query, key, value, whole);
    require(difference(result, whole) < 0.02f, "step by step gives what one causal call gives, as 8 bits store it");
    require(cache.free_pages() == 64, "no page is kept");
}

void one_length() {
    auto const query = random_tensor<4>({1, 8, tokens, 32}), key = random_tensor<4>({1, 2, tokens, 32}),
               value = random_tensor<4>({1, 2, tokens, 32});  // 8 query heads share 2 of keys
    tensor<float, 4> result(query.extents), whole(query.extents);

    //! [decode]
    tensor<float, 4> keys({1, 2, 64, 32}), values({1, 2, 64, 32});  // room for 64 positions
    workspace scratch;                                              // kept: repeated calls allocate nothing
    constexpr auto decoding = scaled_dot | causal_at_end | softmax | weighted_sum;
    index_t count = prompt;
    for (index_t first = 0; first < tokens; first += count, count = 1) {  // the prompt at once, then token by token
        copy(positions(key.view(), first, count), positions(keys.view(), first, count));
        copy(positions(value.view(), first, count), positions(values.view(), first, count));
        index_t const there = first + count;
        attend(scratch, decoding, positions(query.view(), first, count), positions(keys.view(), 0, there),
               positions(values.view(), 0, there), positions(result.view(), first, count));
    }
    //! [decode]
    attend(scaled_dot | causal | softmax | weighted_sum, query, key, value, whole);
    require(difference(result, whole) < 1e-6f, "step by step gives what one causal call gives");
}

void window() {
    auto const query = random_tensor<4>({1, 2, 3, 32}), key = random_tensor<4>({1, 2, tokens, 32}),
               value = random_tensor<4>({1, 2, tokens, 32});
    tensor<float, 4> result(query.extents);
    //! [window]
    auto const distance = q_idx + (kv_len - q_len) - kv_idx;  // 0 for the newest key of the last query
    auto const recent = scaled_dot | causal_at_end | where(distance < 8) | softmax | weighted_sum;
    attend(recent, query, key, value, result);
    //! [window]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        index_t const back = i + tokens - 3 - j;
        return back >= 0 && back < 8 ? product(query, key, b, h, i, j) / std::sqrt(32.0) : minus_infinity;
    };
    require(difference(result, plain_attention(score, 2, 3, value)) < 1e-6f, "a window of 8 keys ends at each query");
}

void many_lengths() {
    auto const query = random_tensor<4>({2, 8, 1, 32});
    auto keys = random_tensor<4>({2, 2, 64, 32}), values = random_tensor<4>({2, 2, 64, 32});
    for (index_t i = 6; i < 64; ++i) keys(1, 0, i, 0) = values(1, 0, i, 0) = std::numeric_limits<float>::quiet_NaN();
    tensor<float, 4> result(query.extents);
    //! [batch]
    std::vector<index_t> const past{17, 5};  // tokens that each sequence had before this one
    auto const batched = scaled_dot | causal_from(past) | softmax | weighted_sum;
    attend(batched, query, keys, values, result);  // over the whole capacity
    //! [batch]
    auto const score = [&](index_t b, index_t h, index_t i, index_t j) {
        bool const there = j <= i + past[static_cast<std::size_t>(b)];
        return there ? product(query, keys, b, h, i, j) / std::sqrt(32.0) : minus_infinity;
    };
    require(difference(result, plain_attention(score, 8, 1, values)) < 1e-6f,
            "each sequence sees its own tokens, and nothing of what comes after them");
}

void pages() {
    auto const key = random_tensor<4>({1, 2, tokens, 32}), value = random_tensor<4>({1, 2, tokens, 32}),
               query = random_tensor<4>({2, 8, 1, 32});
    auto const prompt_keys = positions(key.view(), 0, prompt), prompt_values = positions(value.view(), 0, prompt);
    auto const new_key = [&](index_t n) { return positions(key.view(), prompt + n, 1); };
    auto const new_value = [&](index_t n) { return positions(value.view(), prompt + n, 1); };
    tensor<float, 4> result(query.extents);
    //! [pages]
    kv_cache<float16> cache({.heads = 2, .key_features = 32, .value_features = 32, .pages = 64, .page_size = 16});
    auto const first = cache.add();
    cache.append(first, prompt_keys, prompt_values);  // (1, head, position, feature)
    auto const second = cache.fork(first);            // shares the pages of the prompt
    cache.append(first, new_key(0), new_value(0));
    cache.append(second, new_key(1), new_value(1));

    std::vector<index_t> const sequences{first, second};
    auto const batch = cache.batch(sequences);
    auto const past = batch.past(1);  // positions before the query of each
    attend(scaled_dot | causal_from(past) | softmax | weighted_sum, query, batch.keys(), batch.values(), result);
    //! [pages]
    auto const score = [&](index_t b, index_t h, index_t, index_t j) {
        if (j > prompt) return minus_infinity;
        double sum = 0;
        for (index_t c = 0; c < 32; ++c)
            sum += static_cast<double>(query(b, h, 0, c)) * static_cast<double>(key(0, h / 4, j < prompt ? j : prompt + b, c));
        return sum / std::sqrt(32.0);
    };
    tensor<float, 4> values_of({2, 2, prompt + 1, 32});
    for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
            for (index_t j = 0; j <= prompt; ++j)
                for (index_t c = 0; c < 32; ++c) values_of(b, h, j, c) = value(0, h, j < prompt ? j : prompt + b, c);
    require(difference(result, plain_attention(score, 8, 1, values_of)) < 2e-3f,
            "each sequence sees the prompt and its own token, as float16 stores them");
}

void window_in_pages() {
    index_t const sinks = 2, window = 5;
    auto const key = random_tensor<4>({1, 2, tokens, 32}), value = random_tensor<4>({1, 2, tokens, 32}),
               query = random_tensor<4>({1, 2, tokens, 32});
    std::vector<float> const slopes{0.5f, 0.25f};
    auto const new_key = [&](index_t n) { return positions(key.view(), n, 1); };
    auto const new_value = [&](index_t n) { return positions(value.view(), n, 1); };
    tensor<float, 4> result(query.extents);
    //! [evict]
    kv_cache<float> cache({.heads = 2, .key_features = 32, .value_features = 32, .pages = 4, .page_size = 4});
    auto const sequence = cache.add();
    for (index_t n = 0; n < tokens; ++n) {  // more than the pages have room for
        cache.append(sequence, new_key(n), new_value(n));
        auto const rows = cache.batch({&sequence, 1});
        auto const past = rows.past(1);
        auto const now = q_idx + param(past)[batch];                   // the position of a query
        auto const position = param(rows.positions())[batch][kv_idx];  // of a key, -1 where the slot has none
        auto const seen = position >= 0 && position <= now && (position < sinks || now - position < window);
        auto const alibi_and_window =
            scaled_dot | rescore(score + param(slopes)[head] * (position - now)) | where(seen) | softmax | weighted_sum;
        attend(alibi_and_window, positions(query.view(), n, 1), rows.keys(), rows.values(),
               positions(result.view(), n, 1));
        cache.evict(sequence, sinks, n + 2 - window);  // what the next query does not see
    }
    //! [evict]
    auto const score_of_pair = [&](index_t b, index_t h, index_t i, index_t j) {
        auto const distance = static_cast<double>(j - i);
        return j <= i && (j < sinks || i - j < window)
                 ? product(query, key, b, h, i, j) / std::sqrt(32.0) + static_cast<double>(slopes[static_cast<std::size_t>(h)]) * distance
                 : minus_infinity;
    };
    require(difference(result, plain_attention(score_of_pair, 2, tokens, value)) < 1e-6f,
            "a window of 5 keys and the first 2 stay in the cache");
}

}  // namespace

int main() {
    five_steps();
    one_length();
    pages();
    window_in_pages();
    window();
    many_lengths();
}
