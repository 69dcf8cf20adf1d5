// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/spec/pipe.hpp>

#include <cmath>
#include <utility>

namespace fovea {

/// softmax: weights proportional to exp(score), summing to one over the keys a query sees.
///
///     w_j = exp(s_j - m) / sum_k exp(s_k - m),   m close to max_k s_k
///
/// Streaming: two numbers per query (m, sum) are carried from tile to tile; scores are never stored.
/// m follows the maximum only when that has grown by more than `slack`, so most tiles rescale nothing.
/// A query that sees no key gets zero weights, not NaN; its log-sum-exp is -inf.
/// Source: Milakov and Gimelshein 2018, algorithm 3.
struct softmax_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softmax";
    static constexpr bool excluded_vanish = true;  // exp(-inf) is 0
    static constexpr double slack = 8;  // exp(8) leaves room in float32 sums of 2^100 keys

    template <class T>
    struct state {
        T max = excluded<T>;
        T sum = 0;
    };

    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        T rescale = 1;
        if (row.any_above(s.max + T(slack))) {  // also for the first keys: any score is above -inf
            T const greatest = row.max();
            rescale = s.max == excluded<T> ? T(0) : std::exp(s.max - greatest);
            s.max = greatest;
        }
        T const shift = s.max == excluded<T> ? T(0) : s.max;
        T const added = row.map_and_sum([shift](auto s_j) __attribute__((always_inline)) {
            using std::exp;
            return exp(s_j - shift);
        });
        s.sum = s.sum * rescale + added;
        return rescale;
    }

    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        T const max = s.max > other.max ? s.max : other.max;
        auto const factor = [max](T m) { return m == excluded<T> ? T(0) : std::exp(m - max); };
        std::pair<T, T> const factors{factor(s.max), factor(other.max)};
        s = {max, s.sum * factors.first + other.sum * factors.second};
        return factors;
    }

    template <class T>
    static constexpr T finish(state<T> const& s) {
        return s.sum == 0 ? T(0) : T(1) / s.sum;
    }

    template <class T>
    static T log_sum(state<T> const& s) {
        return s.sum == 0 ? excluded<T> : s.max + std::log(s.sum);
    }
};
inline constexpr softmax_t softmax{};

}  // namespace fovea
