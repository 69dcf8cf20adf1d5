// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/ieee.hpp>
#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/pipe.hpp>

#include <array>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// sparsemax: the nonnegative weights with sum one that are nearest to the scores; many of them are exactly 0.
///
///     w_j = max(s_j - tau, 0)   with   sum_j w_j = 1
///
/// Cost: the scores of a few queries over all keys are kept; tau takes a few passes, the first over the row, the others
/// over the scores above tau once 256 or fewer are left.
/// Edge cases: exact: the support is determined before tau. Tied scores share the weight; scores may be as large as
/// their type allows. A visible score that is NaN has weight NaN; a query that sees no key gets zeros.
/// Errors: at compile time, for `lse`.
/// Source: Martins and Astudillo 2016, algorithm 1; the iteration is that of Michelot 1986.
struct sparsemax_t : stage<role::normalizer> {
    static constexpr std::string_view name = "sparsemax";
    static constexpr bool sums_to_one = true;
    static constexpr bool shift_invariant = true;

    // tau starts 1 below the largest score and is raised to the mean of what lies above it, less its share of one,
    // until nothing leaves the support. What lies above tau is set aside as soon as it is few.
    template <class Row>
    static constexpr void normalize(Row const& row) {
        using T = typename Row::value_type;
        T const greatest = row.max();
        T tau = T(-1);  // of the scores less the greatest
        row_scratch<T> scratch;
        Row few = row;
        bool all = true;
        T support = ieee::infinity<T>;
        while (true) {
            auto const above = few.sums([greatest, tau](auto const& s_j) FOVEA_LAMBDA {
                using V = std::remove_cvref_t<decltype(s_j)>;
                V const s = s_j - greatest;
                auto const inside = operations::greater::apply(s, tau);
                return std::array<V, 2>{operations::select::apply(inside, V(T(1)), V(T(0))),
                                        operations::select::apply(inside, s, V(T(0)))};
            });
            if (!(above[0] > 0 && above[0] < support)) break;  // rounding may let a key at tau come back: it stays out
            support = above[0];
            tau = (above[1] - T(1)) / support;
            if (all && support <= T(scratch.size)) {
                few = row.at_least(greatest + tau, scratch);
                all = false;
            }
        }
        // The rounding of tau is small beside it, not beside weights of which there are many: all that are above 0
        // share it.
        auto const above_tau = [greatest, tau](auto const& s_j)
                                   FOVEA_LAMBDA { return operations::max::apply((s_j - greatest) - tau, T(0)); };
        auto const found = few.sums([above_tau](auto const& s_j) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            V const w = above_tau(s_j);
            return std::array<V, 2>{
                w, operations::select::apply(operations::greater::apply(w, V(T(0))), V(T(1)), V(T(0)))};
        });
        T const share = found[1] > 0 ? (T(1) - found[0]) / found[1] : T(0);
        row.map_from(greatest + tau, [above_tau, share](auto s_j) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            V const w = above_tau(s_j);
            return operations::select::apply(w == V(T(0)), w, V(operations::max::apply(w + share, T(0))));
        });
    }

    /// The gradients of a row: ds_j = g_j less the mean of the g where w is above 0, and 0 elsewhere.
    template <class Row>
    static void gradient(Row&& row) {
        using T = typename std::remove_cvref_t<Row>::value_type;
        auto const support = row.sum([](auto const&, auto const& w, auto const&) { return w > 0 ? T(1) : T(0); });
        auto const sum = row.sum([](auto const&, auto const& w, auto const& g) { return w > 0 ? g : T(0); });
        row.map([&](auto const&, auto const& w, auto const& g) { return w > 0 ? g - sum / support : T(0); });
    }
};
inline constexpr sparsemax_t sparsemax{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
