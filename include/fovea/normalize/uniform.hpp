// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/spec/pipe.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// uniform: all keys that a query sees have the same weight; with weighted_sum, the mean of their values.
///
///     w_j = 1 / n
///
/// Cost: streaming: the number of visible keys, n, is carried from tile to tile.
/// Edge cases: scores decide only which pairs take part: a score of -inf excludes its pair. A query that sees no key
/// gets zeros.
/// Errors: at compile time, for `lse`.
struct uniform_t : stage<role::normalizer> {
    static constexpr std::string_view name = "uniform";
    static constexpr bool sums_to_one = true;

    template <class T>
    struct state {
        T keys = 0;
    };

    template <class T, class Row>
    static constexpr T fold(state<T>& s, Row const& row) {
        s.keys += row.map_and_sum([](auto s_j) { return std::remove_cvref_t<decltype(s_j)>(T(1)); });
        return T(1);
    }

    template <class T>
    static constexpr std::pair<T, T> merge(state<T>& s, state<T> const& other) {
        s.keys += other.keys;
        return {T(1), T(1)};
    }

    template <class T>
    static constexpr T finish(state<T> const& s) {
        return s.keys == 0 ? T(0) : T(1) / s.keys;
    }

    /// Weights do not depend on the scores.
    template <class Row>
    static constexpr void gradient(Row&& row) {
        using T = typename std::remove_cvref_t<Row>::value_type;
        row.map([](auto const&, auto const&, auto const&) { return T(0); });
    }
};
inline constexpr uniform_t uniform{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
