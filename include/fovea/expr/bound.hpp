// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/interval_functions.hpp>
#include <fovea/expr/evaluate.hpp>

#include <algorithm>
#include <array>
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
/// The least and the greatest of n elements; of floating-point numbers none that are not numbers, lo > hi where one is.
template <class T>
constexpr auto extremes(T const* from, index_t n, index_t stride) {
    using number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    number lo = static_cast<number>(*from), hi = lo;
    bool numbers = true;
    auto const look = [&](T element) {
        auto const value = static_cast<number>(element);
        lo = value < lo ? value : lo;
        hi = hi < value ? value : hi;
        if constexpr (!std::is_integral_v<number>) numbers = numbers & (value == value);
    };
    if (stride == 1)  // written twice, since many elements at once are compared only where they lie side by side
        for (index_t i = 0; i < n; ++i) look(from[i]);
    else
        for (index_t i = 0; i < n; ++i) look(from[i * stride]);
    return numbers ? interval<number>{lo, hi} : interval<number>{number(1), number(0)};
}

/// The interval of an element that nobody has looked at.
template <class T>
constexpr auto any_element() {
    using number = std::conditional_t<std::is_integral_v<T>, index_t, double>;
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(index_t))
        return interval<number>{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    else if constexpr (std::is_unsigned_v<T>) return interval<number>{0, std::numeric_limits<number>::max()};
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
              std::type_identity_t<std::array<interval<index_t>, std::size_t{Rank}>> at, index_t most = 4096) {
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
    auto position = at;  // .lo runs over the outer axes
    interval<number> range{};
    for (bool first = true, more = true; more;) {
        index_t offset = 0;
        for (std::size_t axis = 0; axis + 1 < std::size_t{Rank}; ++axis)
            offset += position[axis].lo * table.strides[axis];
        auto const row = extremes(table.data + offset + inner.lo * table.stride(Rank - 1), inner.hi - inner.lo + 1,
                                  table.stride(Rank - 1));
        if (!(row.lo <= row.hi)) return any_element<T>();
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(index_t))
            if (!std::in_range<index_t>(row.hi)) return interval<number>::everything();  // no call takes it
        interval<number> const seen{static_cast<number>(row.lo), static_cast<number>(row.hi)};
        range = first ? seen : interval<number>{std::min(range.lo, seen.lo), std::max(range.hi, seen.hi)};
        first = false;
        more = false;
        for (std::size_t axis = std::size_t{Rank} - 1; axis-- > 0 && !more;) {
            more = position[axis].lo < at[axis].hi;
            position[axis].lo = more ? position[axis].lo + 1 : at[axis].lo;
        }
    }
    return range;
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

template <class Real>
struct bound_environment {
    using arithmetic = interval_arithmetic<Real>;
    box const& where;

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
        auto const range = range_of(table, std::array<interval<index_t>, std::size_t{Rank}>{interval<index_t>(at)...});
        if constexpr (std::is_same_v<T, bool>) return truth{range.hi != 0, range.lo <= 0};
        else if constexpr (std::is_integral_v<T>) return range;
        else return interval<Real>(range);
    }
};
}  // namespace detail

/// bound: what an expression can be over a box of pairs in a call whose arithmetic is Real: an interval, or a truth for
/// a condition.
///
/// Exact where each index occurs once; otherwise it may say more than can happen, never less. Functions other than sqrt
/// leave room for the error that they have in vectors.
template <class Real = double, class E>
constexpr auto bound(E const& e, box const& where) {
    auto const result = evaluate(e, detail::bound_environment<Real>{where});
    if constexpr (std::is_same_v<decltype(result), bool const>) return truth(result);
    else return result;
}

}  // namespace fovea::FOVEA_SET
