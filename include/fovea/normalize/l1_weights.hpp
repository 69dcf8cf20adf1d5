// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/expr/operations.hpp>
#include <fovea/spec/pipe.hpp>

#include <utility>

namespace fovea {

/// l1_weights: the scores divided by the sum of their sizes.
///
///     w_j = s_j / sum_k |s_k|
///
/// Weights keep the sign of their scores and their sizes sum to one. Streaming: the sum is carried.
/// A row whose scores are all 0, one that sees no key among them, gets zeros.
struct l1_weights_t : stage<role::normalizer> {
    static constexpr std::string_view name = "l1_weights";

    template <class T>
    struct state {
        T sum = 0;
    };

    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        s.sum += row.sum([](auto const& s_j) __attribute__((always_inline)) { return operations::abs::apply(s_j); });
        row.map([](auto s_j) __attribute__((always_inline)) { return s_j; });
        return T(1);
    }
    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.sum += other.sum;
        return {T(1), T(1)};
    }
    template <class T>
    static constexpr T finish(state<T> const& s) {
        return s.sum == 0 ? T(0) : T(1) / s.sum;
    }
};
inline constexpr l1_weights_t l1_weights{};

}  // namespace fovea
