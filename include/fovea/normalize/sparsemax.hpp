// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/ieee.hpp>
#include <fovea/expr/operations.hpp>
#include <fovea/spec/pipe.hpp>

#include <array>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// sparsemax: the weights nearest to the scores among all that are not negative and sum to one; many are exactly 0.
///
///     w_j = max(s_j - tau, 0)   with tau such that sum_j w_j = 1
///
/// Needs all scores of a row. tau starts 1 below the greatest and is raised to the mean of what lies above it, less its
/// share of one, until nothing leaves the support: exact, in a few passes. What lies above tau is set aside as soon as
/// it is few. Ties share. A query that sees no key gets zeros.
/// Source: Martins and Astudillo 2016, algorithm 1; the iteration is that of Michelot 1986.
struct sparsemax_t : stage<role::normalizer> {
    static constexpr std::string_view name = "sparsemax";
    static constexpr bool sums_to_one = true;
    static constexpr bool shift_invariant = true;

    template <class Row>
    static constexpr void normalize(Row const& row) {
        using T = typename Row::value_type;
        T const greatest = row.max();
        T tau = T(-1);  // of the scores less the greatest
        row_room<T> room;
        Row few = row;
        bool all = true;
        T support = ieee::infinity<T>;
        while (true) {
            auto const above = few.sums([greatest, tau](auto const& s_j) __attribute__((always_inline)) {
                using V = std::remove_cvref_t<decltype(s_j)>;
                V const s = s_j - greatest;
                auto const inside = operations::greater::apply(s, tau);
                return std::array<V, 2>{operations::select::apply(inside, V(T(1)), V(T(0))),
                                        operations::select::apply(inside, s, V(T(0)))};
            });
            if (!(above[0] > 0 && above[0] < support)) break;  // rounding may let a key at tau come back: it stays out
            support = above[0];
            tau = (above[1] - T(1)) / support;
            if (all && support <= T(room.size)) {
                few = row.at_least(greatest + tau, room);
                all = false;
            }
        }
        // What tau was rounded by is small beside it, not beside weights of which there are many.
        auto const rest = few.sums([greatest, tau](auto const& s_j) __attribute__((always_inline)) {
            using V = std::remove_cvref_t<decltype(s_j)>;
            return std::array<V, 1>{operations::max::apply(T(0), (s_j - greatest) - tau)};
        });
        T const share = (T(1) - rest[0]) / support;
        row.map_from(greatest + tau, [greatest, tau, share](auto s_j) __attribute__((always_inline)) {
            using V = std::remove_cvref_t<decltype(s_j)>;
            V const w = operations::max::apply(T(0), (s_j - greatest) - tau);
            return operations::select::apply(w == V(T(0)), w, V(operations::max::apply(T(0), w + share)));
        });
    }
};
inline constexpr sparsemax_t sparsemax{};

}  // namespace fovea::FOVEA_SET
