// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/headwise.hpp>

#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// layer_normalized: features with mean 0 and variance 1, times a gain, plus a bias.
///
///     y_c = g_c (x_c - mean(x)) / sqrt(sum_i (x_i - mean(x))^2 / d + eps) + b_c
///     layer_normalized    layer_normalized(eps)    layer_normalized(gain)    layer_normalized(gain, bias, eps)
///
/// Shapes: before a matrix, layer_normalized(g, b) | Wq, it acts on the rows of the source, after it on each head; gain
/// and bias are (feature) or (head, feature), kept as views; eps is 1e-5 unless given.
/// Cost: a few passes over a row that is in the cache, once for each role.
/// Edge cases: a row of equal features becomes the bias, unless eps is 0.
/// Errors: shape_error where gain or bias do not fit; std::invalid_argument where eps is negative.
/// Source: Ba et al. 2016, equation 4; before the projections, Xiong et al. 2020.
template <class T = float>
struct layer_normalized_t {
    using head_map_tag = void;
    view<T const, 2> gain{}, bias{};  // (head, feature), (1, feature), or nothing
    double eps = 1e-5;

    constexpr layer_normalized_t operator()(double e) const {
        detail::require_0_or_more("layer_normalized: eps", e);
        return {gain, bias, e};
    }
    template <class Gain>
        requires(!std::is_convertible_v<Gain, double>)
    constexpr auto operator()(Gain&& g, double e = 1e-5) const {
        detail::require_0_or_more("layer_normalized: eps", e);
        auto const v = detail::kept_features_of<2>(std::forward<Gain>(g));
        return layer_normalized_t<typename std::remove_cvref_t<decltype(v)>::value_type>{v, {}, e};
    }
    template <class Gain, class Bias>
        requires(!std::is_convertible_v<Gain, double> && !std::is_convertible_v<Bias, double>)
    constexpr auto operator()(Gain&& g, Bias&& b, double e = 1e-5) const {
        detail::require_0_or_more("layer_normalized: eps", e);
        auto const v = detail::kept_features_of<2>(std::forward<Gain>(g));
        auto const w = detail::kept_features_of<2>(std::forward<Bias>(b));
        using element = typename std::remove_cvref_t<decltype(v)>::value_type;
        constexpr bool alike = std::is_same_v<decltype(v), decltype(w)>;
        static_assert(alike, "fovea: the gain and the bias of layer_normalized have elements of one type");
        if constexpr (alike) return layer_normalized_t<element>{v, w, e};
        else return layer_normalized_t<element>{};
    }

    template <class Row>
    void apply(Row const& row, head_place const& at) const {
        static_cast<void>(centered_and_scaled(row));
        if (has(gain)) row.map([](auto n, auto g) FOVEA_LAMBDA { return n * g; }, of_head(gain, at));
        if (has(bias)) row.map([](auto x, auto b) FOVEA_LAMBDA { return x + b; }, of_head(bias, at));
    }

    constexpr std::tuple<view<T const, 2>, view<T const, 2>> tables() const { return {gain, bias}; }
    /// With n = (x - mean(x)) / s, s = sqrt(var(x) + eps) and e_c = g_c dy_c: dx = (e - mean(e) - n mean(e n)) / s,
    /// dg = n dy, db = dy. x becomes n.
    template <class Row, class Sums>
    void gradient(Row const& x, Row const& d, head_place const& at, Sums const& sums) const {
        using value = typename Row::value_type;
        index_t const size = x.size();
        value const count = static_cast<value>(size), factor = centered_and_scaled(x);
        auto const& [d_gain, d_bias] = sums;
        for (index_t c = 0; c < size && d_gain.data != nullptr; ++c) d_gain(head_of(gain, at), c) += x[c] * d[c];
        for (index_t c = 0; c < size && d_bias.data != nullptr; ++c) d_bias(head_of(bias, at), c) += d[c];
        if (has(gain)) d.map([](auto dy, auto g) FOVEA_LAMBDA { return dy * g; }, of_head(gain, at));
        value const mean = d.sum([](auto e) FOVEA_LAMBDA { return e; }) / count;
        value const along = std::inner_product(d.features, d.features + size, x.features, value(0)) / count;
        for (index_t c = 0; c < size; ++c) d[c] = (d[c] - mean - x[c] * along) * factor;
    }

    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        if (has(gain)) visit(gain, "the gain of layer_normalized on ");
        if (has(bias)) visit(bias, "the bias of layer_normalized on ");
    }
    void check(extents_t<4> const& rows, char const* argument) const {
        for (auto const& [table, name] : {std::pair(gain, "gain"), std::pair(bias, "bias")})
            if (has(table) && (table.extent(1) != rows[3] || (table.extent(0) != 1 && table.extent(0) != rows[1])))
                raise_error(shape_error("layer_normalized on ", argument, ": the ", name, " is ", table.extents,
                                        ", (head, feature) is (", rows[1], ", ", rows[3], ")"));
    }
    std::string text() const {
        return has(bias) ? "layer_normalized(gain, bias)" : has(gain) ? "layer_normalized(gain)" : "layer_normalized";
    }

private:
    /// The row with mean 0 and variance 1, in place; returns what its deviations were multiplied by.
    template <class Row>
    typename Row::value_type centered_and_scaled(Row const& row) const {
        using value = typename Row::value_type;
        value const count = static_cast<value>(row.size()),
                    mean = row.sum([](auto x) FOVEA_LAMBDA { return x; }) / count;
        row.map([mean](auto x) FOVEA_LAMBDA { return x - mean; });
        value const variance = row.sum([](auto x) FOVEA_LAMBDA { return x * x; }) / count;
        value const factor = 1 / std::sqrt(variance + static_cast<value>(eps));
        row.map([factor](auto x) FOVEA_LAMBDA { return x * factor; });
        return factor;
    }
    static constexpr bool has(view<T const, 2> const& table) { return table.data != nullptr; }
    static constexpr index_t head_of(view<T const, 2> const& table, head_place const& at) {
        return table.extent(0) > 1 ? at.head : 0;
    }
    static constexpr T const* of_head(view<T const, 2> const& table, head_place const& at) {
        return table.place(head_of(table, at), index_t{0});
    }
};
inline constexpr layer_normalized_t<> layer_normalized{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
