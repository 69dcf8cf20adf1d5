// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/function_operations.hpp>
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

    /// exp(s_j - max) as a power of two, for scores s_j that are not much above the maximum.
    template <class T>
    struct power {
        T scale, shift;

        template <class Score>
        FOVEA_INLINE constexpr Score operator()(Score const& s_j) const {
            using std::exp2;
            using std::fma;
            return exp2(fma(s_j, Score(scale), Score(-shift)));
        }
    };
    template <class T>
    FOVEA_INLINE static constexpr power<T> power_below(T max) {
        using operations::select;
        using number = number_of<T>;
        T const scale = select::apply(is_huge(max), T(1), T(std::numbers::log2e_v<number>));
        return {scale, select::apply(max == T(excluded<number>), T(0), T(max * scale))};
    }

    template <class T, class Row>
    FOVEA_INLINE static constexpr T fold(state<T>& s, Row const& row) {
        T rescale = T(1);
        if (row.any_above(s.max + T(slack))) {  // also for the first keys: any score is above -inf
            T const before = s.max;
            s.max = operations::max::apply(before, row.max());
            rescale = rescaling(before, s.max);
        }
        auto const power = power_below(s.max);
        T const added = row.map_and_sum([power](auto s_j) FOVEA_LAMBDA { return power(s_j); });
        s.sum = s.sum * rescale + added;
        return rescale;
    }

    /// What weights relative to one maximum are worth relative to another; exponents are rounded as in fold.
    template <class T>
    static constexpr T rescaling(T from, T to) {
        using std::exp2;
        using number = number_of<T>;
        if (!any_lane(!(from == T(excluded<number>)))) return T(0);
        T const scale = T(std::numbers::log2e_v<number>);
        T const distance =
            operations::select::apply(is_huge(from) || is_huge(to), T(from - to), T(from * scale - to * scale));
        return operations::select::apply(from == T(excluded<number>), T(0), T(exp2(distance)));
    }

    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        T const max = s.max > other.max ? s.max : other.max;
        std::pair<T, T> const factors{rescaling(s.max, max), rescaling(other.max, max)};
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

    /// What gives the weights again: w_j = power_below(max)(s_j) / sum.
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

private:
    /// Whether a score is so great that any other is equal to it or too far from it to matter, in whatever base: then
    /// 2 is the base, since what is rounded off the product with log2 e would exceed the range of exponents.
    template <class T>
    static constexpr auto is_huge(T score) {
        constexpr auto limit = 64 / std::numeric_limits<number_of<T>>::epsilon();  // above, neighbours are 64 apart
        return score > T(limit) || score < T(-limit);
    }
};
inline constexpr softmax_t softmax{};

}  // namespace fovea::FOVEA_SET
