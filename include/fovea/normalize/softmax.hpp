// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/exponential.hpp>
#include <fovea/spec/pipe.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// softmax: weights proportional to exp(score), summing to one over the keys a query sees.
///
///     w_j = exp(s_j) / sum_k exp(s_k)
///
/// Cost: one exponential for each pair; a running maximum and a sum are carried, scores are never stored.
/// Edge cases: no score is too large; rows of -1e30, as additive masks produce them, are uniform. A query that sees no
/// key gets zero weights, not NaN; its log-sum-exp is -inf. A NaN in a visible score shows in the result.
/// Source: Milakov and Gimelshein 2018, algorithm 3.
struct softmax_t : stage<role::normalizer> {
    static constexpr std::string_view name = "softmax";
    static constexpr bool excluded_vanish = true;  // exp(-inf) is 0
    static constexpr bool takes_lanes = true;
    // Weights are 2^(s log2 e - m log2 e); m follows the maximum only when that has grown by more than slack, so most
    // tiles rescale nothing.
    static constexpr double slack = 8;  // exp(8) leaves room in float32 sums of 2^100 keys

    template <class T>
    struct state {
        T max = excluded<number_of<T>>;
        T sum = T(0);
    };

    template <class T, class Row>
    FOVEA_INLINE static constexpr T fold(state<T>& s, Row const& row) {
        T rescale = T(1);
        if (row.any_above(s.max + T(slack))) {  // also for the first keys: any score is above -inf
            T const before = s.max;
            s.max = operations::max::apply(row.max(), before);
            rescale = exponential::rescaling(before, s.max);
        }
        auto const power = exponential::power_below(s.max);
        T const added = row.map_and_sum([power](auto s_j) FOVEA_LAMBDA { return power(s_j); });
        s.sum = s.sum * rescale + added;
        return rescale;
    }

    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        T const max = s.max > other.max ? s.max : other.max;
        std::pair<T, T> const factors{exponential::rescaling(s.max, max), exponential::rescaling(other.max, max)};
        s = {max, s.sum * factors.first + other.sum * factors.second};
        return factors;
    }

    template <class T>
    static constexpr T finish(state<T> const& s) {
        return operations::select::apply(s.sum == T(0), T(0), T(T(1) / s.sum));
    }

    template <class T>
    static T log_sum(state<T> const& s) {
        return operations::select::apply(s.sum == T(0), T(excluded<number_of<T>>),
                                         T(s.max + operations::log::apply(s.sum)));
    }

    /// The row state that gives the weights again: w_j = exp(s_j - max) / sum.
    template <class T>
    static std::pair<T, T> max_and_sum(state<T> const& s) {
        return {s.max, s.sum};
    }

    /// The gradients of a row: ds_j = w_j (g_j - sum_k w_k g_k).
    template <class Row>
    static void gradient(Row&& row) {
        auto const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        row.map([&](auto const&, auto const& w, auto const& g) { return w * (g - mean); });
    }
};
inline constexpr softmax_t softmax{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
