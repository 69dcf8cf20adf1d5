// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/quotient.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// l1_weights: the scores divided by the sum of their absolute values.
///
///     w_j = s_j / sum_k |s_k|
///
/// Cost: streaming: the sum is carried from tile to tile.
/// Edge cases: weights keep the sign of their scores. A row whose scores are all 0, or that sees no key, gets zeros.
/// Scores may be as large as their type allows and as small as its normal numbers, even if their sum, or its inverse,
/// would overflow. Smaller ones count as 0 where pairs of bfloat16 are multiplied as stored (attend, Types).
/// Errors: at compile time, for `lse`.
struct l1_weights_t : stage<role::normalizer> {
    static constexpr std::string_view name = "l1_weights";

    template <class T>
    using state = quotient_state<T>;

    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        auto const sizes = [](Row const& weights) {
            return weights.sum([](auto const& s_j) FOVEA_LAMBDA { return operations::abs::apply(s_j); });
        };
        T const added = sizes(row);
        row.map([](auto s_j) FOVEA_LAMBDA { return s_j; });
        return s.fold(row, added, sizes);
    }
    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        return s.merge(other);
    }
    template <class T>
    static constexpr T finish(state<T> const& s) {
        return s.finish();
    }

    /// The gradients of a row: ds_j = (g_j - sign(s_j) sum_k w_k g_k) / sum_k |s_k|, the sign of 0 being 0.
    template <class Row>
    static void gradient(Row&& row) {
        using T = typename std::remove_cvref_t<Row>::value_type;
        T const divisor = row.sum([](auto const& s, auto const&, auto const&) { return s < 0 ? -s : s; });
        T const mean = row.sum([](auto const&, auto const& w, auto const& g) { return w * g; });
        row.map([&](auto const& s, auto const&, auto const& g) {
            return divisor == 0 ? T(0) : (g - (s > 0 ? mean : s < 0 ? -mean : T(0))) / divisor;
        });
    }
};
inline constexpr l1_weights_t l1_weights{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
