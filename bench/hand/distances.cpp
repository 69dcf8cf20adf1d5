// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relative attention as a loop over queries and keys: each pair reads its key, its value and the vector of its
// distance.
#include "bench/hand/arithmetic.hpp"
#include "bench/hand/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bench::hand {
namespace {

constexpr index_t size = distances::size;
using row = std::array<float, std::size_t{size}>;

float sum_of(vector const& x) {
    float lane[lanes], sum = 0;
    store(x, lane);
    for (float const each : lane) sum += each;
    return sum;
}
void add(float weight, float const* from, float* to) {
    for (index_t c = 0; c < size; c += lanes) store(load(to + c) + weight * load(from + c), to + c);
}

/// Scores become weights.
void normalize(std::vector<float>& scores) {
    float const most = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (float& each : scores) sum += each = std::exp(each - most);
    for (float& each : scores) each /= sum;
}

/// dO . v of all values; returns the mean by these weights.
float changes_of(float const* d_result, float const* value, std::vector<float> const& weights,
                 std::vector<float>& changes) {
    float mean = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        vector sum{};
        for (index_t c = 0; c < size; c += lanes)
            sum += load(d_result + c) * load(value + static_cast<index_t>(j) * size + c);
        changes[j] = sum_of(sum);
        mean += weights[j] * changes[j];
    }
    return mean;
}

}  // namespace

void distances::scores(index_t i, float const* of_key, float const* of_distance, float* to) const {
    for (index_t j = 0; j < length; ++j) {
        float const *const k = key + j * size, *const vectors = r + (i - j + length - 1) * size;
        vector sum{};
        for (index_t c = 0; c < size; c += lanes)
            sum += load(of_key + c) * load(k + c) + load(of_distance + c) * load(vectors + c);
        to[j] = sum_of(sum) / 8;
    }
}

void distances::attend(float* result) const {
    std::vector<float> weights(static_cast<std::size_t>(length));
    for (index_t i = 0; i < length; ++i) {
        row of_key, of_distance;
        for (index_t c = 0; c < size; ++c) {
            of_key[static_cast<std::size_t>(c)] = query[i * size + c] + u[c];
            of_distance[static_cast<std::size_t>(c)] = query[i * size + c] + w[c];
        }
        scores(i, of_key.data(), of_distance.data(), weights.data());
        normalize(weights);
        std::fill_n(result + i * size, size, 0.f);
        for (index_t j = 0; j < length; ++j)
            add(weights[static_cast<std::size_t>(j)], value + j * size, result + i * size);
    }
}

void distances::gradient(float const* d_result, float* d_query, float* d_key, float* d_value, float* d_u, float* d_w,
                         float* d_r) const {
    std::vector<float> weights(static_cast<std::size_t>(length)), changes(weights.size());
    for (index_t i = 0; i < length; ++i) {
        row of_key, of_distance, d_of_key{}, d_of_distance{};
        for (index_t c = 0; c < size; ++c) {
            of_key[static_cast<std::size_t>(c)] = query[i * size + c] + u[c];
            of_distance[static_cast<std::size_t>(c)] = query[i * size + c] + w[c];
        }
        scores(i, of_key.data(), of_distance.data(), weights.data());
        normalize(weights);
        float const mean = changes_of(d_result + i * size, value, weights, changes);
        for (index_t j = 0; j < length; ++j) {
            float const weight = weights[static_cast<std::size_t>(j)];
            float const change = weight * (changes[static_cast<std::size_t>(j)] - mean) / 8;
            index_t const distance = (i - j + length - 1) * size;
            add(weight, d_result + i * size, d_value + j * size);
            add(change, key + j * size, d_of_key.data());
            add(change, r + distance, d_of_distance.data());
            add(change, of_key.data(), d_key + j * size);
            add(change, of_distance.data(), d_r + distance);
        }
        add(1, d_of_key.data(), d_u);
        add(1, d_of_distance.data(), d_w);
        add(1, d_of_key.data(), d_query + i * size);
        add(1, d_of_distance.data(), d_query + i * size);
    }
}

void distances_of_keys::scores(index_t i, float* to) const {
    for (index_t j = 0; j < length; ++j) {
        float const *const k = key + j * size, *const vectors = r + (i - j + length - 1) * size;
        vector sum{};
        for (index_t c = 0; c < size; c += lanes) sum += (load(query + i * size + c) + load(vectors + c)) * load(k + c);
        to[j] = sum_of(sum) / 8;
    }
}

void distances_of_keys::attend(float* result) const {
    std::vector<float> weight(static_cast<std::size_t>(length));
    for (index_t i = 0; i < length; ++i) {
        scores(i, weight.data());
        normalize(weight);
        std::fill_n(result + i * size, size, 0.f);
        for (index_t j = 0; j < length; ++j)
            add(weight[static_cast<std::size_t>(j)], value + j * size, result + i * size);
    }
}

void distances_of_keys::gradient(float const* d_result, float* d_query, float* d_key, float* d_value,
                                 float* d_r) const {
    std::vector<float> weight(static_cast<std::size_t>(length)), changes(weight.size());
    for (index_t i = 0; i < length; ++i) {
        scores(i, weight.data());
        normalize(weight);
        float const mean = changes_of(d_result + i * size, value, weight, changes);
        for (index_t j = 0; j < length; ++j) {
            float const of = weight[static_cast<std::size_t>(j)],
                        change = of * (changes[static_cast<std::size_t>(j)] - mean) / 8;
            index_t const distance = (i - j + length - 1) * size;
            add(of, d_result + i * size, d_value + j * size);
            add(change, key + j * size, d_query + i * size);
            add(change, query + i * size, d_key + j * size);
            add(change, r + distance, d_key + j * size);
            add(change, key + j * size, d_r + distance);
        }
    }
}

}  // namespace bench::hand
