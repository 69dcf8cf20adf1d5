// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/interval_functions.hpp>
#include <fovea/expr/evaluate.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// A box of pairs: ranges of batch, head, query and key positions, ends included, and the lengths they lie in.
struct box {
    interval<index_t> batch{0};
    interval<index_t> head{0};
    interval<index_t> q_idx{0};
    interval<index_t> kv_idx{0};
    index_t q_len = 0;
    index_t kv_len = 0;
    index_t dim = 0;
};

namespace detail {
/// The least and the greatest elements of rows of a table, so many columns at a time: each column has its own, which
/// compilers compare side by side.
template <class T>
class column_extremes {
public:
    using number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    static constexpr index_t columns = 32, fewer = 8;

    constexpr column_extremes() {
        lo_.fill(highest);
        hi_.fill(lowest);
    }
    /// Of each row n elements, at most as many as there are columns.
    constexpr void add(T const* row, index_t rows, index_t row_stride, index_t n, index_t stride) {
        index_t column = 0;
        if (stride == 1) {
            if (n == columns) add_columns<columns>(0, row, rows, row_stride), column = columns;
            for (; column + fewer <= n; column += fewer) add_columns<fewer>(column, row + column, rows, row_stride);
        }
        for (; column < n; ++column) add_columns<1>(column, row + column * stride, rows, row_stride);
    }
    /// Those of n elements of one row; lo > hi where one was no number.
    static constexpr interval<number> of_row(T const* row, index_t n, index_t stride) {
        auto lo = highest, hi = lowest;
        bool is_nan = false;
        for (index_t i = 0; i < n; ++i) {
            auto const value = static_cast<compared>(row[i * stride]);
            lo = value < lo ? value : lo;
            hi = hi < value ? value : hi;
            if constexpr (may_be_nan) is_nan |= value != value;
        }
        if (is_nan) return {number(1), number(0)};
        return {static_cast<number>(lo), static_cast<number>(hi)};
    }
    /// Those of all that was added.
    constexpr interval<number> all() const {
        auto joined = *this;
        joined.template join_halves<columns / 2>();
        if constexpr (may_be_nan)
            if (joined.is_nan_[0] != 0) return {number(1), number(0)};
        return {static_cast<number>(joined.lo_[0]), static_cast<number>(joined.hi_[0])};
    }

private:
    static constexpr bool may_be_nan = !std::is_integral_v<number>;
    using compared = std::conditional_t<std::is_same_v<number, bool>, unsigned char, number>;
    using as_wide = std::conditional_t<sizeof(number) == 8, std::int64_t, std::int32_t>;
    static constexpr compared highest = may_be_nan ? ieee::infinity<number> : std::numeric_limits<compared>::max(),
                              lowest = may_be_nan ? -ieee::infinity<number> : std::numeric_limits<compared>::lowest();

    /// Columns from one on, some rows at a time: their extremes stay in registers meanwhile.
    template <index_t Columns>
    constexpr void add_columns(index_t column, T const* row, index_t rows, index_t row_stride) {
        constexpr index_t together = 8;
        index_t r = 0;
        for (; r + together <= rows; r += together)
            add_rows<Columns, together>(column, row + r * row_stride, row_stride);
        for (; r < rows; ++r) add_rows<Columns, 1>(column, row + r * row_stride, row_stride);
    }
    template <index_t Columns, index_t Rows>
    constexpr void add_rows(index_t column, T const* row, index_t row_stride) {
        for (index_t n = 0; n < Columns; ++n) {
            auto const i = static_cast<std::size_t>(column + n);
            auto lo = lo_[i], hi = hi_[i];
            for (index_t r = 0; r < Rows; ++r) {
                auto const value = static_cast<compared>(row[r * row_stride + n]);
                lo = value < lo ? value : lo;
                hi = hi < value ? value : hi;
                if constexpr (may_be_nan) is_nan_[i] |= value != value;
            }
            lo_[i] = lo;
            hi_[i] = hi;
        }
    }
    template <index_t Half>
    constexpr void join_halves() {
        for (index_t n = 0; n < Half; ++n) {
            auto const i = static_cast<std::size_t>(n), of = static_cast<std::size_t>(n + Half);
            lo_[i] = lo_[of] < lo_[i] ? lo_[of] : lo_[i];
            hi_[i] = hi_[i] < hi_[of] ? hi_[of] : hi_[i];
            if constexpr (may_be_nan) is_nan_[i] |= is_nan_[of];
        }
        if constexpr (Half > 1) join_halves<Half / 2>();
    }

    template <class Each>
    using of_columns = std::array<Each, static_cast<std::size_t>(columns)>;
    of_columns<compared> lo_, hi_;
    std::conditional_t<may_be_nan, of_columns<as_wide>, std::array<as_wide, 0>> is_nan_{};
};

/// Of bits, whether some are 0 and some are 1.
template <>
class column_extremes<bit> {
public:
    using number = bool;
    static constexpr index_t columns = 32;

    constexpr void add(bit_pointer first, index_t rows, index_t row_stride, index_t n, index_t stride) {
        for (index_t r = 0; r < rows; ++r) {
            auto const row = first + r * row_stride;
            if (stride == 1) {
                auto const bits = row.first(n);
                any_[1] |= bits != 0;
                any_[0] |= bits != ~std::uint32_t{0} >> (columns - n);
            } else {
                for (index_t i = 0; i < n; ++i) any_[row[i * stride]] = true;
            }
        }
    }
    constexpr interval<number> all() const { return {!any_[0], any_[1]}; }

private:
    bool any_[2]{};
};

/// The interval of an element that nobody has looked at.
template <class T>
constexpr auto any_element() {
    using value = value_of_element<T>;
    using number = std::conditional_t<std::is_integral_v<value>, index_t, double>;
    if constexpr (std::is_integral_v<value> && sizeof(value) < sizeof(index_t))
        return interval<number>{std::numeric_limits<value>::min(), std::numeric_limits<value>::max()};
    else if constexpr (std::is_unsigned_v<value>) return interval<number>{0, std::numeric_limits<number>::max()};
    else return interval<number>::everything();
}

/// All indices of a table.
template <class T, int Rank>
constexpr auto whole_of(view<T const, Rank> const& table) {
    std::array<interval<index_t>, std::size_t{Rank}> all;
    for (std::size_t axis = 0; axis < all.size(); ++axis) all[axis] = {0, table.extents[axis] - 1};
    return all;
}

/// The interval of the elements of a table over ranges of its indices: looked at where there are at most so many.
template <class T, int Rank>
auto range_of(view<T const, Rank> const& table,
              std::type_identity_t<std::array<interval<index_t>, std::size_t{Rank}>> at, index_t most) {
    if (table.empty()) return any_element<T>();
    index_t count = 1;
    for (std::size_t axis = 0; axis < std::size_t{Rank}; ++axis) {
        index_t const last = table.extents[axis] - 1;
        at[axis] = {std::clamp<index_t>(at[axis].lo, 0, last), std::clamp<index_t>(at[axis].hi, 0, last)};
        if (table.strides[axis] == 0) at[axis].hi = at[axis].lo;  // the same element everywhere
        index_t const size = at[axis].hi - at[axis].lo + 1;
        if (count > most / size) return any_element<T>();
        count *= size;
    }
    using number = typename decltype(any_element<T>())::value_type;
    auto const& inner = at[Rank - 1];
    index_t const stride = table.stride(Rank - 1);
    auto const extremes = [&] {
        if constexpr (Rank == 1 && !std::is_same_v<T, bit>) {
            return column_extremes<T>::of_row(table.data + inner.lo * stride, inner.hi - inner.lo + 1, stride);
        } else {
            constexpr std::size_t outer = Rank > 1 ? Rank - 2 : 0;  // axes beside those of rows and columns
            index_t const rows = Rank > 1 ? at[outer].hi - at[outer].lo + 1 : 1,
                          row_stride = Rank > 1 ? table.strides[outer] : 0;
            column_extremes<T> all;
            for (index_t column = inner.lo; column <= inner.hi; column += column_extremes<T>::columns) {
                auto const columns = std::min(inner.hi - column + 1, column_extremes<T>::columns);
                auto position = at;  // .lo runs over the outer axes
                for (bool more = true; more;) {
                    index_t offset = column * stride;
                    for (std::size_t axis = 0; axis + 1 < std::size_t{Rank}; ++axis)
                        offset += position[axis].lo * table.strides[axis];
                    all.add(table.data + offset, rows, row_stride, columns, stride);
                    more = false;
                    for (std::size_t axis = outer; axis-- > 0 && !more;) {
                        more = position[axis].lo < at[axis].hi;
                        position[axis].lo = more ? position[axis].lo + 1 : at[axis].lo;
                    }
                }
            }
            return all.all();
        }
    }();
    if (!(extremes.lo <= extremes.hi)) return any_element<T>();
    if constexpr (std::is_unsigned_v<T> && sizeof(value_of_element<T>) == sizeof(index_t))
        if (!std::in_range<index_t>(extremes.hi)) return interval<number>::everything();  // no call takes it
    return interval<number>{static_cast<number>(extremes.lo), static_cast<number>(extremes.hi)};
}

/// Intervals of one type of reals: functions of numbers have the error that those of vectors have.
template <class Real>
struct interval_arithmetic : arithmetic_in<Real> {
    template <class X>
    static constexpr auto to_real(X const& x) {
        if constexpr (interval_kind<X>::is) return interval<Real>(x);
        else return static_cast<Real>(x);
    }
    template <class Operation, class... X>
    static auto function(X const&... x) {
        return Operation::apply(interval<Real>(x)...);
    }
};

/// Bounds of an element by the interval that it lies in.
template <class Real, class T, class Number>
constexpr auto bounds_of_element(interval<Number> const& range) {
    if constexpr (is_truth<T>) return truth{range.hi != 0, range.lo <= 0};
    else if constexpr (!is_real_number<T>) return range;
    else return interval<Real>(range);
}

/// How many elements of a table are looked at in each box.
inline constexpr index_t elements_in_box = 4096;

template <class Real>
struct bound_environment {
    using arithmetic = interval_arithmetic<Real>;
    box const& where;
    index_t most_elements = elements_in_box;

    constexpr auto operator()(q_idx_t) const { return where.q_idx; }
    constexpr auto operator()(kv_idx_t) const { return where.kv_idx; }
    constexpr auto operator()(head_t) const { return where.head; }
    constexpr auto operator()(batch_t) const { return where.batch; }
    constexpr auto operator()(q_len_t) const { return interval<index_t>(where.q_len); }
    constexpr auto operator()(kv_len_t) const { return interval<index_t>(where.kv_len); }
    constexpr auto operator()(dim_t) const { return interval<index_t>(where.dim); }
    constexpr auto operator()(edge_t) const { return interval<index_t>::everything(); }
    constexpr auto operator()(score_t) const { return interval<Real>::everything(); }
    constexpr auto operator()(weight_t) const { return interval<Real>::everything(); }
    constexpr auto operator()(out_t) const { return interval<Real>::everything(); }
    constexpr auto sum(auto const&, auto const&) const { return interval<Real>::everything(); }

    template <class T, int Rank, class... Index>
    constexpr auto lookup(view<T const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return bounds_of_element<Real, T>(range_of(table, {interval<index_t>(at)...}, most_elements));
    }
};
}  // namespace detail

/// bound: what an expression can be over a box of pairs in a call whose arithmetic is Real: an interval, or a truth for
/// a condition.
///
/// Exact where each index occurs once; otherwise it may say more than can happen, never less. Functions other than sqrt
/// leave room for the error that they have in vectors. Of a table that has more elements in the box than
/// `most_elements` nothing is known.
template <class Real = double, class E>
constexpr auto bound(E const& e, box const& where, index_t most_elements = detail::elements_in_box) {
    auto const result = evaluate(e, detail::bound_environment<Real>{where, most_elements});
    if constexpr (std::is_same_v<decltype(result), bool const>) return truth(result);
    else return result;
}

}  // namespace fovea::FOVEA_SET
