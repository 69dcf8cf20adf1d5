// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All classes of normalizers under one interface, so that a loop is written once for all of them, and whether a
// reweighting only scales.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/operators.hpp>
#include <fovea/spec/whole_row.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::plan {

/// True where a reweighting only scales: weights that are not final yet may take the factor as well, and no row is
/// kept.
template <class E>
inline constexpr bool scales_weight = std::is_same_v<E, weight_t>;
template <class A, class B>
inline constexpr bool scales_weight<node<operations::times, A, B>> =
    (scales_weight<A> && !uses<B, weight_t>) || (!uses<A, weight_t> && scales_weight<B>);
template <class A, class B>
inline constexpr bool scales_weight<node<operations::divided, A, B>> = scales_weight<A> && !uses<B, weight_t>;
template <class A>
inline constexpr bool scales_weight<node<operations::negate, A>> = scales_weight<A>;

/// How a normalizer is run: a piece of a row at a time where it can be, a whole row otherwise.
template <normalizer Normalize, class T>
struct normalizing {
    using of_row = row_normalizer<Normalize, T>;  // what the functions below take
    using state = state_of_row<of_row, T>;
    static constexpr bool selects = one_hot_normalizer<of_row>;
    static constexpr bool streams = streaming_normalizer<of_row>;
    static constexpr bool elementwise = elementwise_normalizer<of_row> && !streams && !selects;
    static constexpr bool whole_row = !selects && !streams && !elementwise;
    /// True where one call can take many rows, a row in each lane.
    static constexpr bool takes_lanes = elementwise || [] {
        if constexpr (streams && requires { of_row::takes_lanes; }) return of_row::takes_lanes;
        else return false;
    }();

    /// True where rows fold alike, whatever numbers of their own the normalizer takes for them: then `fold` is static.
    static constexpr bool folds_alike = [] {
        if constexpr (!row_dependent_normalizer<Normalize>) return true;
        else if constexpr (streams)
            return requires(state& s, row_archetype<double> const& row) { of_row::fold(s, row); };
        else return false;
    }();

    /// Scores become weights; returns the rescale factor of the sums so far.
    template <class Row>
    FOVEA_INLINE static T fold(of_row const& n, state& s, Row const& row) {
        if constexpr (selects) {
            n.fold(s, row);
            return T{1};
        } else if constexpr (streams) {
            return static_cast<T>(n.fold(s, row));
        } else if constexpr (elementwise) {
            row.map([&](auto score) FOVEA_LAMBDA { return n.weight(score); });
            return T{1};
        } else {
            n.normalize(row);
            return T{1};
        }
    }

    /// Two states of one row become one; returns the rescale factors of the sums of each.
    static std::pair<T, T> merge(of_row const& n, state& s, state const& other) {
        if constexpr (streams) return n.merge(s, other);
        else return {T{1}, T{1}};
    }

    static T finish(of_row const& n, state const& s) {
        if constexpr (streams) return static_cast<T>(n.finish(s));
        else return T{1};
    }

    /// A whole row at once: its scores become its final weights.
    template <class Row>
    static void whole(of_row const& n, state& s, Row const& row) {
        weigh_whole_row(n, s, row);
    }

    static T log_sum(of_row const& n, state const& s) { return log_sum_of_row<T>(n, s); }
};

}  // namespace fovea::FOVEA_SET::plan
