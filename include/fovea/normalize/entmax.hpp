// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/function_operations.hpp>
#include <fovea/spec/pipe.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace fovea::FOVEA_SET {

/// entmax: softmax for alpha near 1, entmax15 for 1.5, sparsemax for 2; the larger alpha, the fewer keys have a weight.
///
///     w_j = max((alpha - 1) s_j - tau, 0)^(1 / (alpha - 1))   with   sum_j w_j = 1
///
/// Cost: the scores of a few queries over all keys are kept; tau takes a few passes with an exponential and a logarithm
/// for each score, all but the first over the scores above tau once 256 or fewer are left. `entmax15` and `sparsemax`
/// are faster.
/// Edge cases: tied scores share the weight. A visible score that is NaN makes all weights NaN; a query that sees no
/// key gets zeros. For alpha above 2, small weights are sensitive to rounding, since their slope is unbounded; near 1,
/// all are, in proportion to 1 / (alpha - 1).
/// Errors: std::invalid_argument unless alpha is finite and above 1. At compile time, for `lse`.
/// Source: Blondel, Martins and Niculae 2019; Peters, Niculae and Martins 2019, algorithm 1.
struct entmax_t : stage<role::normalizer> {
    double alpha = 1.5;

    constexpr explicit entmax_t(double a) : alpha(a) {
        if (!(a > 1 && a < ieee::infinity<double>)) detail::refuse_number("entmax: alpha", a, "finite and above 1");
    }
    std::string text() const { return "entmax(" + std::to_string(alpha) + ")"; }

    // Newton's iteration between bounds, by halving where it would leave them; then the weights are divided by their
    // sum. What lies above the lower bound is set aside as soon as it is few.
    template <class Row>
    void normalize(Row const& row) const {
        using T = typename Row::value_type;
        T const greatest = row.max();
        if (greatest == excluded<T>) return row.map([](auto s_j) { return s_j - s_j; });  // no number
        T const scale = static_cast<T>(alpha - 1), power = static_cast<T>(1 / (alpha - 1));
        T low = T(-1), high = T(0), tau = low, sum = 0;  // tau of (alpha - 1) s less its greatest
        row_scratch<T> scratch;
        Row few = row;
        bool all = true;
        // A weight, its slope, and whether it is one: all 0 at and below tau. A score that is not a number stays one.
        auto const weight = [=](auto const& s_j, T at) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            V const base = (s_j - greatest) * scale - at;
            auto const outside = operations::less_equal::apply(base, T(0));
            V const logarithm = operations::log::apply(operations::select::apply(outside, V(T(1)), base));
            V const w = operations::select::apply(outside, V(T(0)), V(operations::exp::apply(logarithm * power)));
            return std::array<V, 3>{w, operations::select::apply(outside, V(T(0)), V(w / base)),
                                    operations::select::apply(outside, V(T(0)), V(T(1)))};
        };
        // Some five steps; halving alone takes as many as a number has places. That ends whatever a compiler makes of
        // NaN.
        for (int left = std::numeric_limits<T>::digits - std::numeric_limits<T>::min_exponent; left > 0; --left) {
            auto const at_tau = few.sums([&](auto const& s_j) FOVEA_LAMBDA { return weight(s_j, tau); });
            sum = at_tau[0];
            T const newton = tau + (sum - std::pow(sum, T(1) - scale)) / at_tau[1];  // on sum^scale, nearly straight
            bool const settled = std::abs(newton - tau) <= 4 * std::numeric_limits<T>::epsilon() * std::abs(tau);
            if (settled && std::abs(sum - T(1)) < T(1e-3)) break;  // steep sums are narrowed down by halving
            (sum > T(1) ? low : high) = tau;
            if (all && tau == low && at_tau[2] <= T(scratch.size)) {
                few = row.at_least(greatest + low * power, scratch);
                all = false;
            }
            T const next = newton > low && newton < high ? newton : (low + high) / 2;
            if (!(next > low && next < high)) break;
            tau = next;
        }
        T const share = T(1) / sum;
        row.map([&](auto s_j) FOVEA_LAMBDA { return weight(s_j, tau)[0] * share; });
    }

    /// The gradients of a row: ds_j = u_j (g_j - sum_k u_k g_k / sum_k u_k), u_j = w_j^(2 - alpha) where w_j is above
    /// 0.
    template <class Row>
    void gradient(Row&& row) const {
        using T = typename std::remove_cvref_t<Row>::value_type;
        auto const slope = [power = static_cast<T>(2 - alpha)](T w) { return w > 0 ? std::pow(w, power) : T(0); };
        auto const slopes = row.sum([&](auto const&, auto const& w, auto const&) { return slope(w); });
        auto const sum =
            row.sum([&](auto const&, auto const& w, auto const& g) { return w > 0 ? slope(w) * g : T(0); });
        row.map(
            [&](auto const&, auto const& w, auto const& g) { return w > 0 ? slope(w) * (g - sum / slopes) : T(0); });
    }
};

constexpr entmax_t entmax(double alpha) { return entmax_t(alpha); }
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed entmax(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
