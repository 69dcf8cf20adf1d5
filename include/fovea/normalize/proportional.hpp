// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>
#include <fovea/spec/quotient.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// proportional: the scores divided by their sum.
///
///     w_j = s_j / sum_k s_k
///
/// Cost: streaming: the sum is carried; with running_state it comes from the sum of the keys, one column of the state.
/// Edge cases: meant for scores that are always positive, such as feature_map(elu(q) + 1); scores of both signs may
/// cancel in the sum. A row whose scores add up to 0, or that sees no key, gets zeros.
/// Errors: at compile time, for `lse`.
/// Source: Katharopoulos et al. 2020, equation 3.
struct proportional_t : stage<role::normalizer> {
    static constexpr std::string_view name = "proportional";
    static constexpr bool weights_are_scores_over_sum = true;

    template <class T>
    using state = quotient_state<T>;

    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        auto const identity = [](auto score) FOVEA_LAMBDA { return score; };
        return s.fold(row, row.map_and_sum(identity), [&](Row const& weights) { return weights.sum(identity); });
    }
    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        return s.merge(other);
    }
    template <class T>
    static constexpr T finish(state<T> const& s) {
        return s.finish();
    }

    /// The gradients of a row: ds_j = (g_j - sum_k w_k g_k) / sum_k s_k.
    template <class Row>
    static void gradient(Row&& row) {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const divisor = row.sum([](auto const& s, auto const&, auto const&) { return s; });
        T const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        row.map([&](auto const&, auto const&, auto const& g) { return divisor == 0 ? T(0) : (g - mean) / divisor; });
    }
};
inline constexpr proportional_t proportional{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
