// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/angle.hpp>
#include <fovea/core/as_view.hpp>
#include <fovea/core/integer_argument.hpp>
#include <fovea/expr/literal.hpp>
#include <fovea/spec/headwise.hpp>
#include <fovea/spec/row_positions.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// rotary: rotates pairs of features by an angle that grows with the position p: products depend on distances only.
///
///     (x, y) -> (x cos a - y sin a, y cos a + x sin a),   a = p / base^(2 i / r),   i = 0 ... r / 2 - 1
///
/// Options: pairs are (i, i + r / 2) of the r features of a head, and p counts from 0; .features(r): the first r alone;
/// .interleaved(): pairs are (2 i, 2 i + 1); .from(n): p counts from n, a number or a table (batch); .positions(table):
/// p is n plus its element, (position) or (batch, position); .base(b): replaces 10000; .interpolated(s): divides p by
/// s; .ntk_scaled(s): multiplies base by s^(r / (r - 2)); .frequencies(table): (r / 2) angles at p = 1.
/// Cost: angles, in double, once per position for all heads; four multiplications for each pair.
/// Edge cases: position 0 changes nothing. Tables are views; frequencies have a gradient. Queries and keys pair alike.
/// Errors: shape_error for an odd r, one above a head, or an unfit table; std::invalid_argument for b or s <= 0.
/// Source: Su et al. 2021, equation 34; Chen et al. 2023 for interpolated.
template <class Frequency = float, class Index = index_t>
struct rotary_t {
    using head_map_tag = void;
    static constexpr bool linear = true;
    index_t turned = 0;  // 0: all features
    double theta = 10000, stretch = 1, ntk = 1;
    bool neighbors = false;
    std::optional<view<Frequency const, 1>> given{};  // (r / 2)
    row_positions<Index> place{};

    constexpr rotary_t interleaved() const { return {turned, theta, stretch, ntk, true, given, place}; }
    constexpr rotary_t features(integer_argument n) const { return {n, theta, stretch, ntk, neighbors, given, place}; }
    constexpr rotary_t base(double b) const { return {turned, b, stretch, ntk, neighbors, given, place}; }
    constexpr rotary_t interpolated(double s) const { return {turned, theta, s, ntk, neighbors, given, place}; }
    constexpr rotary_t ntk_scaled(double s) const { return {turned, theta, stretch, s, neighbors, given, place}; }
    constexpr rotary_t from(integer_argument n) const { return at(place.counted_from(n.value)); }

    template <class Table>
        requires(!std::is_convertible_v<Table, index_t>)
    constexpr auto from(Table&& table) const {
        return at(place.counted_from(detail::kept_table_of<1>(std::forward<Table>(table))));
    }
    template <class Table>
    constexpr auto positions(Table&& table) const {
        return at(place.listed_in(detail::kept_table_of<2>(std::forward<Table>(table))));
    }
    template <class Table>
    constexpr auto frequencies(Table&& table) const {
        auto const t = detail::kept_features_of<1>(std::forward<Table>(table));
        return rotary_t<typename decltype(t)::value_type, Index>{turned, theta, stretch, ntk, neighbors, t, place};
    }

    constexpr index_t size(index_t of_head) const { return turned == 0 ? of_head : turned; }
    constexpr index_t prepared(index_t of_head) const { return size(of_head); }  // cosines, then sines
    template <class T>
    FOVEA_INLINE void prepare(T* numbers, index_t of_head, head_place const& row) const {
        using exact = std::conditional_t<(sizeof(T) > sizeof(double)), T, double>;
        constexpr index_t run = 32;
        auto const n = static_cast<exact>(size(of_head));
        exact const grown = ntk == 1 ? exact(1) : std::pow(exact(ntk), n / (n - 2));
        exact const ratio = std::exp(-2 / n * std::log(theta * grown)),
                    p = static_cast<exact>(place(row)) / exact(stretch);
        exact power = 1, angles[run] = {};
        for (index_t first = 0, half = size(of_head) / 2; first < half; first += run) {
            index_t const count = std::min(run, half - first);
            for (index_t i = 0; i < count; ++i, power *= ratio)
                angles[i] = p * (given ? static_cast<exact>((*given)(first + i)) : power);
            write_directions(angles, count, numbers + first, numbers + half + first);
        }
    }
    void apply(auto const& row, head_place const&, auto const* numbers) const {
        rotate_pairs(row, numbers, size(row.size()) / 2, neighbors, 1);
    }
    constexpr auto tables() const { return std::tuple(given.value_or(view<Frequency const, 1>{})); }
    void gradient(auto const& x, auto const& d, head_place const& at, auto const* numbers, auto const& sums) const {
        index_t const half = size(x.size()) / 2;
        if (auto const& d_frequencies = std::get<0>(sums); d_frequencies.data != nullptr)
            add_angle_gradients(x, d, numbers, half, neighbors, place(at) / stretch, d_frequencies);
        rotate_pairs(d, numbers, half, neighbors, -1);
    }

    constexpr void memory(auto const& visit) const {
        if (given) visit(*given, "the frequencies of rotary on ");
        place.memory(visit);
    }
    /// `rows` is (batch, head, position, feature).
    FOVEA_INLINE void check(extents_t<4> const& rows, char const* argument) const {
        for (double const x : {theta, stretch, ntk}) detail::require_above_0("rotary: a base or factor", x);
        auto const n = size(rows[3]);
        if (n % 2 != 0 || n <= 0 || n > rows[3])
            raise_error(shape_error("rotary on ", argument, ": ", detail::counted(n, "feature"),
                                    " cannot be rotated in pairs, a head has ", rows[3]));
        if (given && given->extent(0) != n / 2)
            raise_error(shape_error("rotary on ", argument, ": ", detail::there_are(given->extent(0), "frequency"),
                                    " for ", detail::counted(n / 2, "pair")));
        place.check(rows, "rotary", argument);
    }
    std::string text() const { return neighbors ? "rotary.interleaved()" : "rotary"; }

private:
    template <class I>
    constexpr rotary_t<Frequency, I> at(row_positions<I> const& p) const {
        return {turned, theta, stretch, ntk, neighbors, given, p};
    }
};
inline constexpr rotary_t<> rotary{};

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
