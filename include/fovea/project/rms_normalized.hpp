// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/as_view.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/headwise.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace fovea::FOVEA_SET {

/// rms_normalized: the features of each head at each position, divided by their root mean square, times a gain.
///
///     y_c = g_c x_c / sqrt(sum_c x_c^2 / d + eps)
///     rms_normalized    rms_normalized(eps)    rms_normalized(gain)    rms_normalized(gain, eps)
///
/// Shapes: the gain is (feature), the same for all heads, or (head, feature), kept as a view; eps is 1e-6 unless given.
/// After a row map of `project`, before `rotary` if both are used.
/// Cost: two passes over a row that is in the cache.
/// Gradients: of the row and the gain.
/// Edge cases: a row of zeros stays zero, unless eps is 0.
/// Errors: shape_error where the gain does not fit the heads; std::invalid_argument where eps is negative.
/// Source: Zhang and Sennrich 2019, equation 4; on queries and keys, Dehghani et al. 2023, section 2.
template <class T = float>
struct rms_normalized_t {
    using head_map_tag = void;
    std::optional<view<T const, 2>> gain{};  // (head, feature), (1, feature)
    double eps = 1e-6;

    constexpr rms_normalized_t operator()(double e) const {
        detail::require_0_or_more("rms_normalized: eps", e);
        return {gain, e};
    }
    template <class Gain>
        requires(!std::is_convertible_v<Gain, double>)
    constexpr auto operator()(Gain&& g, double e = 1e-6) const {
        detail::require_0_or_more("rms_normalized: eps", e);
        auto const v = detail::kept_features_of<2>(std::forward<Gain>(g));
        return rms_normalized_t<typename std::remove_cvref_t<decltype(v)>::value_type>{v, e};
    }

    template <class Row>
    void apply(Row const& row, head_place const& at) const {
        using value = typename Row::value_type;
        value const squares = row.sum([](auto x) FOVEA_LAMBDA { return x * x; });
        value const factor = 1 / std::sqrt(squares / static_cast<value>(row.size()) + static_cast<value>(eps));
        if (!gain) row.map([factor](auto x) FOVEA_LAMBDA { return x * factor; });
        else
            row.map([factor](auto x, auto g) FOVEA_LAMBDA { return x * factor * g; },
                    gain->place(gain->extent(0) == 1 ? index_t{0} : at.head, index_t{0}));
    }

    constexpr std::tuple<view<T const, 2>> tables() const { return {gain.value_or(view<T const, 2>{})}; }
    /// dx_c = (g_c dy_c - x_c sum_i g_i x_i dy_i / (sum_i x_i^2 + d eps)) / sqrt(sum_i x_i^2 / d + eps), and
    /// dg_c = x_c dy_c / sqrt(sum_i x_i^2 / d + eps).
    template <class Row, class Sums>
    void gradient(Row const& x, Row const& d, head_place const& at, Sums const& sums) const {
        using value = typename Row::value_type;
        value const squares = x.sum([](auto x_c) { return x_c * x_c; }), count = static_cast<value>(x.size());
        value const mean = squares / count + static_cast<value>(eps), factor = 1 / std::sqrt(mean);
        auto const& d_gain = std::get<0>(sums);
        index_t const head = gain && gain->extent(0) > 1 ? at.head : 0;
        value along = 0;
        for (index_t c = 0; c < x.size(); ++c) {
            if (d_gain.data != nullptr) d_gain(head, c) += x[c] * d[c] * factor;
            if (gain) d[c] *= static_cast<value>((*gain)(head, c));
            along += x[c] * d[c];
        }
        for (index_t c = 0; c < x.size(); ++c) d[c] = (d[c] - x[c] * (along / (count * mean))) * factor;
    }

    template <class Visit>
    constexpr void memory(Visit const& visit) const {
        if (gain) visit(*gain, "the gain of rms_normalized on ");
    }

    /// `rows` is (batch, head, position, feature).
    void check(extents_t<4> const& rows, char const* argument) const {
        if (gain && (gain->extent(1) != rows[3] || (gain->extent(0) != 1 && gain->extent(0) != rows[1])))
            raise_error(shape_error("rms_normalized on ", argument, ": the gain is ", gain->extents,
                                    ", (head, feature) is (", rows[1], ", ", rows[3], ")"));
    }
    std::string text() const { return gain ? "rms_normalized(gain)" : "rms_normalized"; }
};
inline constexpr rms_normalized_t<> rms_normalized{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
