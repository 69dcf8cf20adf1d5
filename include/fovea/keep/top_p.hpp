// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/print.hpp>
#include <fovea/spec/selection.hpp>

#include <array>
#include <cmath>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// top_p: a selection: the fewest keys whose softmax weights together reach a share (the nucleus).
///
///     j is kept where s_j >= t   with the greatest score t for which sum_(s_m >= t) softmax(s)_m >= p
///     keep(top_p(0.9)) | softmax
///
/// Shapes: `p` is a number above 0 and at most 1.
/// Cost: the score t is bisected; a step takes an exponential for each score that may be in the nucleus, or for each
/// of the row, where more than 256 may be.
/// Edge cases: the largest score always stays; all that are equal to t stay. With p = 1 all keys stay.
/// Errors: std::invalid_argument for any other number; at compile time, for what is no number.
/// Source: Holtzman et al. 2020, section 3.1.
struct top_p_t : key_selection {
    static constexpr bool keeps_greatest = true;
    double p = 1;

    constexpr top_p_t() = default;
    constexpr explicit top_p_t(double share) : p(share) {}
    std::string text() const { return "top_p(" + print(literal<double>{p}) + ")"; }

    // Scores below `low` are together less than what the nucleus may lack; those from `low` on suffice, those from
    // `above` on do not.
    template <class Row>
    auto least(Row const& row) const {
        using T = typename Row::value_type;
        T const greatest = row.max();
        if (greatest == excluded<T> || p >= 1) return excluded<T>;
        auto const [all, keys] = from(row, greatest, excluded<T>);
        T const enough = static_cast<T>(p) * all;
        T low = greatest + std::log((all - enough) / keys), above = greatest;
        row_scratch<T> scratch;
        Row const few = row.at_least(low, scratch);
        auto of_low = from(few, greatest, low), of_above = from(few, greatest, above);
        if (!(of_above.weight < enough)) return greatest;
        while (of_low.count - of_above.count > 1) {
            T const middle = low / 2 + above / 2;
            if (!(middle > low && middle < above)) break;  // all between are equal
            auto const of_middle = from(few, greatest, middle);
            bool const suffices = of_middle.weight >= enough;
            (suffices ? low : above) = middle;
            (suffices ? of_low : of_above) = of_middle;
        }
        return detail::greatest_below(few, above);
    }

private:
    template <class T>
    struct scores_from {
        T weight, count;
    };
    /// The weight of the scores that are not less than one, that of the greatest being 1, and their number.
    template <class Row, class T>
    static scores_from<T> from(Row const& row, T greatest, T score) {
        auto const [weight, count] = row.sums([greatest, score](auto const& s_j) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            auto const below = operations::less::apply(s_j, score);
            return std::array<V, 2>{
                operations::select::apply(below, V(T(0)), V(operations::exp::apply(s_j - greatest))),
                operations::select::apply(below, V(T(0)), V(T(1)))};
        });
        return {weight, count};
    }
};

template <class P>
constexpr top_p_t top_p(P const& p) {
    return top_p_t(detail::share_of_weight("top_p: p", p));
}
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed top_p(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
