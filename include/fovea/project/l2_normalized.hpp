// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/expr/literal.hpp>
#include <fovea/spec/headwise.hpp>

#include <cmath>
#include <string>

namespace fovea::FOVEA_SET {

/// l2_normalized: the features of each head at each position, divided by their Euclidean norm.
///
///     y_c = x_c / max(sqrt(sum_c x_c^2), eps)
///     project(Wq | l2_normalized, Wk | l2_normalized, Wv, heads<8>)    l2_normalized(eps)
///
/// Shapes: after a row map of `project`, for queries, keys or values; it acts on each head separately. eps is 1e-12
/// unless given.
/// Cost: two passes over a row that is in the cache.
/// Edge cases: a row of zeros stays zero, unless eps is 0; a row with a norm below eps is divided by eps.
/// Errors: std::invalid_argument where eps is negative.
/// Source: Henry et al. 2020 (query-key normalization).
struct l2_normalized_t {
    using head_map_tag = void;
    double eps = 1e-12;

    constexpr l2_normalized_t operator()(double least) const {
        detail::require_0_or_more("l2_normalized: eps", least);
        return {least};
    }

    template <class Row>
    void apply(Row const& row, head_place const&) const {
        using T = typename Row::value_type;
        T const length = std::sqrt(row.sum([](auto x) FOVEA_LAMBDA { return x * x; }));
        T const least = static_cast<T>(eps);
        T const factor = 1 / (length < least ? least : length);
        row.map([factor](auto x) FOVEA_LAMBDA { return x * factor; });
    }
    /// dx_c = (dy_c - y_c sum_i y_i dy_i) / |x|; below eps, dy_c / eps.
    template <class Row>
    void gradient(Row const& x, Row const& d, head_place const&) const {
        using T = typename Row::value_type;
        T const length = std::sqrt(x.sum([](auto x_c) { return x_c * x_c; })), least = static_cast<T>(eps);
        T along = 0;
        for (index_t c = 0; c < x.size() && !(length < least); ++c) along += x[c] * d[c] / (length * length);
        for (index_t c = 0; c < x.size(); ++c) d[c] = (d[c] - x[c] * along) / (length < least ? least : length);
    }
    static constexpr void memory(auto const&) {}
    static std::string text() { return "l2_normalized"; }
};
inline constexpr l2_normalized_t l2_normalized{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
