// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/row.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// entmax15: between softmax and sparsemax: smooth where weights are above 0, and exactly 0 far below the largest
/// score.
///
///     w_j = max(s_j / 2 - tau, 0)^2   with   sum_j w_j = 1
///
/// Cost: the scores of a few queries over all keys are kept; tau takes a few passes, the first over the row, the others
/// over the scores above tau once 256 or fewer are left.
/// Edge cases: a key whose score is 2 or more below the best has weight 0. Tied scores share the weight; scores may be
/// as large as their type allows. A visible score that is NaN has weight NaN; a query that sees no key gets zeros.
/// Errors: at compile time, for `lse`.
/// Source: Peters, Niculae and Martins 2019, section 3 and appendix B.2.
struct entmax15_t : stage<role::normalizer> {
    static constexpr std::string_view name = "entmax15";
    static constexpr bool sums_to_one = true;
    static constexpr bool shift_invariant = true;

    // Newton's iteration from below on the root of the sum: that is convex in tau, so every step stays below the
    // solution, and nearly straight, so steps are few. What lies above tau is set aside as soon as it is few.
    template <class Row>
    static void normalize(Row const& row) {
        using T = typename Row::value_type;
        T const greatest = row.max();
        if (greatest == excluded<T>) return row.map([](auto s_j) { return s_j - s_j; });  // no number
        T tau = T(-1);  // of half the scores less the greatest
        row_scratch<T> scratch;
        Row few = row;
        bool all = true;
        auto const excess = [&tau, greatest](auto const& s_j)
                                FOVEA_LAMBDA { return operations::max::apply((s_j - greatest) * T(0.5) - tau, T(0)); };
        T share = 0;  // what tau was rounded by
        bool rising = true;
        for (int left = std::numeric_limits<T>::digits * 8; rising && left > 0; --left) {  // some ten steps
            auto const above = few.sums([&](auto const& s_j) FOVEA_LAMBDA {
                using V = std::remove_cvref_t<decltype(s_j)>;
                V const x = excess(s_j);
                auto const inside = operations::greater::apply(x, T(0));
                return std::array<V, 3>{x, operations::square::apply(x),
                                        operations::select::apply(inside, V(T(1)), V(T(0)))};
            });
            T const next = tau + (above[1] - std::sqrt(above[1])) / above[0];
            rising = next > tau;
            if (rising) tau = next;
            else share = (T(1) - above[1]) / (2 * above[0]);
            if (all && above[2] <= T(scratch.size)) {
                few = row.at_least(greatest + 2 * tau, scratch);
                all = false;
            }
        }
        row.map_from(greatest + 2 * tau, [&](auto s_j) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            V const x = excess(s_j);
            return operations::square::apply(
                V(operations::select::apply(x == V(T(0)), x, V(operations::max::apply(x + share, T(0))))));
        });
    }

    /// The gradients of a row: ds_j = u_j (g_j - sum_k u_k g_k / sum_k u_k), u_j = sqrt(w_j).
    template <class Row>
    static void gradient(Row&& row) {
        using T = typename std::remove_cvref_t<Row>::value_type;
        auto&& all = in_vectors(row);
        auto const slope = [](auto const& w) FOVEA_LAMBDA { return operations::sqrt::apply(w); };
        auto const where_above = []<class V>(V const& w, V const& x) FOVEA_LAMBDA {
            return V(operations::select::apply(operations::greater::apply(w, V(T(0))), x, V(T(0))));
        };
        T const slopes = all.sum([&](auto const&, auto const& w, auto const&) FOVEA_LAMBDA { return slope(w); });
        T const sum = all.sum([&](auto const&, auto const& w, auto const& g)
                                  FOVEA_LAMBDA { return where_above(w, slope(w) * g); });
        all.map([&]<class V>(V const&, V const& w, V const& g)
                    FOVEA_LAMBDA { return where_above(w, slope(w) * (g - V(sum / slopes))); });
    }
};
inline constexpr entmax15_t entmax15{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
