// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/functions.hpp>

#include <array>
#include <cstdint>
#include <tuple>

namespace fuzz {

constexpr fovea::index_t table_size = 16;

/// The leaves of expressions beside names: numbers and tables that an input decides.
struct leaves {
    fovea::index_t a = 0, b = 0, c = 0;
    double x = 0, y = 0;
    std::array<std::int64_t, table_size> ids{};
    std::array<std::int32_t, table_size> small{};
    std::array<std::uint32_t, table_size> words{};
    std::array<std::uint8_t, table_size> bytes{};
    std::array<float, table_size> singles{};
    std::array<double, table_size> doubles{};
    std::array<bool, table_size> marks{};
};

/// Expressions of many forms, by number.
inline auto shapes(leaves const& l) {
    using namespace fovea;
    using namespace fovea::placeholders;
    auto const& [a, b, c, x, y, ids_of, small_of, words_of, bytes_of, singles_of, doubles_of, marks_of] = l;
    auto const ids = param(ids_of);
    auto const small = param(small_of);
    auto const words = param(words_of);
    auto const bytes = param(bytes_of);
    auto const singles = param(singles_of);
    auto const doubles = param(doubles_of);
    auto const marks = param(marks_of);
    auto const i = q_idx % table_size;
    auto const j = kv_idx % table_size;
    auto const distance = q_idx - kv_idx;
    return std::tuple{
        // integers
        q_idx - kv_idx * a + b, (q_idx + a) * (kv_idx + b), kv_idx * kv_idx - q_idx * q_idx, distance / c,
        (kv_idx * a + b) % c, min(q_idx * a, kv_idx + b), max(kv_idx - a, -q_idx), abs(kv_idx * a - q_idx),
        square(kv_idx - a), select(kv_idx < q_idx + a, kv_idx * b, q_idx - c), ids[j] + a, ids[j] * small[i],
        words[j] - a, bytes[(kv_idx + q_idx) % table_size] * c, ids[abs(bytes[j]) % table_size] - ids[i],
        select(small[j] != 0, a / small[j], b), head * a + batch * b - kv_idx, kv_len - kv_idx - 1 + q_len * a,
        kv_idx / 4 % 5 * a + q_idx, -(-kv_idx - a) - q_idx, words[j] / c, words[j] * words[i], kv_idx * kv_idx * kv_idx,
        min(ids[j], a) + max(ids[i], b), ids[(a - kv_idx) % table_size], words[j] % c,
        select(marks[j], words[j], small[i]), ids[kv_idx] + small[q_idx], select(kv_idx < a, ids[min(kv_idx, 15)], b),
        // conditions
        kv_idx <= q_idx + a, ids[i] == ids[j], ids[j] != a, distance * distance < a,
        kv_idx % 4 == q_idx % 4 || kv_idx < b, marks[j] && !(q_idx < a), words[j] > a, words[i] == words[j],
        abs(distance) <= a && kv_idx / 8 == q_idx / 8, kv_idx * a == q_idx * b, select(kv_idx < a, kv_idx, q_idx) >= b,
        small[j] != 0 && b / small[j] > 0, words[j] < words[i] || ids[j]<ids[i], a - kv_idx> b, singles[j] < x,
        kv_idx * x <= y, kv_idx < table_size && ids[kv_idx] == a,
        // reals
        kv_idx * x + y, singles[j] * distance, exp(-abs(distance) / 8.0), tanh(x * kv_idx - y), sigmoid(singles[j] + x),
        relu(x * (kv_idx - a)), leaky_relu(y - kv_idx, 0.2), elu(0.1 * distance),
        sqrt(abs(distance)) * log(1 + abs(kv_idx - b)), x / (1.5 + square(y * kv_idx)),
        select(kv_idx < q_idx, singles[j] * x, doubles[j] * y), min(kv_idx * x, y), max(a, x * q_idx),
        erf(x) + gelu(singles[j]), silu(doubles[i] - x), rsqrt(kv_idx + 1.0), words[j] * x, ids[j] * 0.5 - singles[i],
        (kv_idx * kv_idx) * x};
}

}  // namespace fuzz
