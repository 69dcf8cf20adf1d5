// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

#include <utility>

namespace fovea::FOVEA_SET {

/// hardmax: weight one for the best key of each query, zero for the others (hard attention).
///
///     w_j = 1 for the first j with s_j = max_k s_k, else 0
///
/// Cost: streaming: the best score and its position are carried; only the values of the winning keys are read.
/// Edge cases: ties go to the lowest position. A query that sees no key gets zeros. A score that is NaN never wins.
/// After `gumbel` it draws a key with its `softmax` weight. It has no gradient: `straight_through` is hardmax with that
/// of softmax.
/// Errors: at compile time, for `lse`.
/// Source: Xu et al. 2015, section 4.1.
struct hardmax_t : stage<role::normalizer> {
    static constexpr std::string_view name = "hardmax";

    template <class T>
    using state = located<T>;

    template <class T, class Row>
    static constexpr void fold(state<T>& s, Row const& row) {
        merge(s, row.first_max());
    }

    template <class T>
    static constexpr void merge(state<T>& s, state<T> const& other) {
        bool const better = other.value > s.value || (other.value == s.value && other.key < s.key);
        if (other.key >= 0 && (s.key < 0 || better)) s = other;
    }

    template <class T>
    static constexpr index_t selected(state<T> const& s) {
        return s.key;
    }
};
inline constexpr hardmax_t hardmax{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
