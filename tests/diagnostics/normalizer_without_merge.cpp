// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sentence: fovea: this normalizer has fold but no merge: a streaming normalizer needs both, to combine two halves of a
// row
#include <fovea/aggregate/weighted_sum.hpp>
#include <fovea/score/scaled_dot.hpp>

using namespace fovea;

/// Weights proportional to 1 + score^2.
struct quadratic_t : stage<role::normalizer> {
    template <class T>
    struct state {
        T sum = 0;
    };
    template <class T, class Row>
    static T fold(state<T>& s, Row const& row) {
        s.sum += row.map_and_sum([](auto x) { return 1 + x * x; });
        return 1;
    }

#ifndef FOVEA_BROKEN
    template <class T>
    static std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.sum += other.sum;
        return {1, 1};
    }
#endif

    template <class T>
    static T finish(state<T> const& s) {
        return s.sum == 0 ? T(0) : 1 / s.sum;
    }
};
inline constexpr quadratic_t quadratic{};

auto composed = scaled_dot | quadratic | weighted_sum;
