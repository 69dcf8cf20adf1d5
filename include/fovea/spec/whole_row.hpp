// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A whole row at once, by a normalizer of any class.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/spec/concepts.hpp>

#include <type_traits>

namespace fovea::FOVEA_SET {

/// A normalizer of whole rows whose normalize(row) returns what stands for the log-sum-exp of the row.
template <class N>
concept log_sum_returning_normalizer = whole_row_normalizer<N> && requires(N const& n, row_archetype<double> row) {
    { n.normalize(row) } -> std::convertible_to<double>;
};

/// A normalizer that can say what stands for the log-sum-exp of a row.
template <class N>
concept log_sum_normalizer =
    normalizer<N>
    && (log_sum_returning_normalizer<row_normalizer<N>>
        || requires(row_normalizer<N> const& n, typename row_normalizer<N>::template state<double> s) {
               { n.log_sum(s) } -> std::convertible_to<double>;
           });

namespace detail {
struct no_state {};

/// The result of a whole row.
template <class T>
struct row_log_sum {
    T log_sum = excluded<T>;
};

template <class Normalize, class T>
constexpr auto state_of() {
    if constexpr (streaming_normalizer<Normalize> || one_hot_normalizer<Normalize>)
        return std::type_identity<typename Normalize::template state<T>>{};
    else if constexpr (log_sum_returning_normalizer<Normalize>) return std::type_identity<row_log_sum<T>>{};
    else return std::type_identity<no_state>{};
}
}  // namespace detail

/// The state of a normalizer between pieces of a row, or the result of a whole one.
template <plain_normalizer Normalize, class T>
using state_of_row = typename decltype(detail::state_of<Normalize, T>())::type;

/// The scores of a whole row become its final weights. A key that is listed twice wins once.
template <plain_normalizer Normalize, class State, class Row>
FOVEA_INLINE constexpr void weigh_whole_row(Normalize const& n, State& s, Row const& row) {
    using T = typename Row::value_type;
    if constexpr (one_hot_normalizer<Normalize>) {
        n.fold(s, row);
        index_t winner = n.selected(s);
        for (index_t i = 0; i < row.size(); ++i) {
            bool const wins = winner >= 0 && row.key(i) == winner;
            row[i] = wins ? T{1} : T{0};
            if (wins) winner = -1;
        }
    } else if constexpr (streaming_normalizer<Normalize>) {
        static_cast<void>(n.fold(s, row));
        row.rescale(static_cast<T>(n.finish(s)));
    } else if constexpr (elementwise_normalizer<Normalize>) {
        row.map([&](auto score) FOVEA_LAMBDA { return n.weight(score); });
    } else if constexpr (log_sum_returning_normalizer<Normalize>) {
        s.log_sum = static_cast<T>(n.normalize(row));
    } else {
        n.normalize(row);
    }
}

/// The log-sum-exp of a row, or what a normalizer has for it; 0 where it has nothing.
template <class T, class Normalize, class State>
FOVEA_INLINE constexpr T log_sum_of_row(Normalize const& n, State const& s) {
    if constexpr (std::is_same_v<State, detail::row_log_sum<T>>) return s.log_sum;
    else if constexpr (requires { n.log_sum(s); }) return static_cast<T>(n.log_sum(s));
    else return T{0};
}

}  // namespace fovea::FOVEA_SET
