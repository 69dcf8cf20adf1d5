// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/hand/arithmetic.hpp"
#include "bench/hand/kernels.hpp"

#include <algorithm>

namespace bench::hand {
namespace {
constexpr index_t n = 16, packs = n / lanes;
static_assert(n % lanes == 0);

/// Scores over log(2) become weights, a query in each lane; their sum.
template <index_t Keys>
[[gnu::always_inline]] inline vector weigh(vector (&weight)[Keys], vector highest) {
    vector sum{};
    for (index_t j = 0; j < Keys; ++j) {
        weight[j] = exp2(weight[j] - highest);
        sum += weight[j];
    }
    return sum;
}
}  // namespace

/// Queries in lanes: maxima and sums over keys are then vertical, and everything but the transposed queries is read
/// where it lies.
void small(float const* query, float const* key, float const* value, float* result) {
    for (index_t first = 0; first < n; first += lanes) {
        vector q[packs][lanes];  // (features, queries)
        for (index_t p = 0; p < packs; ++p) {
            for (index_t i = 0; i < lanes; ++i) q[p][i] = load(query + (first + i) * n + p * lanes) * (0.25f * log2_e);
            transpose(q[p]);
        }
        vector weight[n], highest = all(no_score);
        for (index_t j = 0; j < n; ++j) {
            vector even{}, odd{};
            for (index_t f = 0; f < n; f += 2) {
                even += q[f / lanes][f % lanes] * key[j * n + f];
                odd += q[(f + 1) / lanes][(f + 1) % lanes] * key[j * n + f + 1];
            }
            weight[j] = even + odd;
            highest = greater(highest, weight[j]);
        }
        vector const share = 1 / weigh(weight, highest);
        for (index_t p = 0; p < packs; ++p) {
            vector out[lanes];  // (features, queries)
            for (index_t c = 0; c < lanes; ++c) {
                out[c] = vector{};
                for (index_t j = 0; j < n; ++j) out[c] += weight[j] * value[j * n + p * lanes + c];
                out[c] *= share;
            }
            transpose(out);
            for (index_t i = 0; i < lanes; ++i) store(out[i], result + (first + i) * n + p * lanes);
        }
    }
}

/// The same where queries fill no vector: the last one stands for those that are missing, and features are put in their
/// lanes one by one.
void tiny(float const* query, float const* key, float const* value, float* result) {
    constexpr index_t queries = 10, keys = 20, size = 5;
    constexpr float scale = 0.447213595f * log2_e;  // 1 / sqrt(size)
    alignas(64) float column[lanes];
    for (index_t first = 0; first < queries; first += lanes) {
        index_t const last = std::min<index_t>(first + lanes, queries) - 1;
        vector q[size];
        for (index_t f = 0; f < size; ++f) {
            for (index_t i = 0; i < lanes; ++i) column[i] = query[std::min(first + i, last) * size + f];
            q[f] = load(column) * scale;
        }
        vector weight[keys], highest = all(no_score);
        for (index_t j = 0; j < keys; ++j) {
            weight[j] = vector{};
            for (index_t f = 0; f < size; ++f) weight[j] += q[f] * key[j * size + f];
            highest = greater(highest, weight[j]);
        }
        vector const share = 1 / weigh(weight, highest);
        for (index_t c = 0; c < size; ++c) {
            vector out{};
            for (index_t j = 0; j < keys; ++j) out += weight[j] * value[j * size + c];
            store(out * share, column);
            for (index_t i = first; i <= last; ++i) result[i * size + c] = column[i - first];
        }
    }
}

}  // namespace bench::hand
