// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether some pair of a box reads a table beside its elements.
#pragma once

#include <fovea/expr/analyze.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/spec/feature_tables.hpp>

#include <array>

namespace fovea::FOVEA_SET::detail {

/// A box of pairs, and of edges where keys are listed.
struct read_box : box {
    interval<index_t> edge{0};
};

template <class Real>
struct read_environment : bound_environment<Real> {
    interval<index_t> edges;
    explicit constexpr read_environment(read_box const& b) : bound_environment<Real>{b}, edges(b.edge) {}
    using bound_environment<Real>::operator();
    constexpr auto operator()(edge_t) const { return edges; }
};

/// One pair in plain numbers: this settles what intervals leave open, such as comparisons with a NaN, random numbers
/// and integers that wrap around. Tables are read at the element nearest to the index.
template <class Real>
struct read_pair {
    using arithmetic = arithmetic_in<Real>;
    read_environment<Real> ranges;

    constexpr index_t operator()(auto name) const { return ranges(name).lo; }
    template <class T, int Rank, class... Index>
    constexpr auto lookup(view<T const, Rank> const& table, Index... at) const {
        if (table.empty()) return arithmetic::constant(T{});
        return arithmetic::constant(table.data[clamped_offset(table, at...)]);
    }
};

/// Whether an expression is known before the call: one of features or scores is not.
template <class E>
inline constexpr bool is_known_of_pair = !uses<E, q_t, k_t, score_t, weight_t, out_t> && free_axes_of<E> == 0;
template <class Operation, class... Children>
inline constexpr bool is_known_of_pair<node<Operation, Children...>> =
    !std::is_same_v<Operation, operations::sum> && (is_known_of_pair<Children> && ...);
template <class T, int Rank, class... Indices>
inline constexpr bool is_known_of_pair<node<at_operation, parameter<T, Rank>, Indices...>> =
    sizeof...(Indices) == Rank && (is_known_of_pair<Indices> && ...);

/// Who reads a table: every pair, of a call whose arithmetic is Real.
template <class Real>
struct every_reader {
    using real = Real;
    static constexpr bool is_known = true;
    template <class Placeholder>
    static constexpr bool depends_on = false;
    constexpr truth operator()(read_box const&) const { return truth{true}; }
    constexpr bool operator()(read_pair<Real> const&) const { return true; }
};

/// Of some readers those for which a condition holds, or fails. Conditions on features or scores are not known.
template <class Readers, class E>
struct readers_where {
    Readers const& before;
    E const& condition;
    bool holds;

    using real = typename Readers::real;
    static constexpr bool is_known = Readers::is_known && is_known_of_pair<E>;
    template <class Placeholder>
    static constexpr bool depends_on = Readers::template depends_on<Placeholder> || uses<E, Placeholder>;

    truth operator()(read_box const& b) const {
        auto const first = before(b);
        if constexpr (!is_known) return first && truth{};
        else {
            if (first.never()) return first;
            truth const second(evaluate(condition, read_environment<real>(b)));
            return first && (holds ? second : !second);
        }
    }
    bool operator()(read_pair<real> const& pair) const { return before(pair) && evaluate(condition, pair) == holds; }
};

/// Halves boxes until one index of one table is decided; gives up after `left` boxes, which costs less than a call.
template <class Index, class Readers>
struct read_search {
    using real = typename Readers::real;
    using names = read_environment<real>;
    using pair_names = read_pair<real>;
    Index const& index;
    index_t extent;
    Readers const& readers;
    index_t left = 1 << 16;
    read_box found{};  // a single pair
    index_t read_at = 0;

    /// What the index can be over a box; one number where the box is a point on the sides that the index depends on.
    interval<index_t> at(read_box const& b) const {
        interval<index_t> const range = evaluate(index, names(b));
        if constexpr (is_known_of_pair<Index>)
            if (range.lo != range.hi && b.edge.lo == b.edge.hi && widest_side<true>(b) < 0)
                return evaluate(index, pair_names{names(b)});
        return range;
    }
    bool is_inside(read_box const& b) const {
        auto const range = at(b);
        return range.lo >= 0 && range.hi < extent;
    }

    /// True where some pair of the box certainly reads outside; that pair is then in `found`.
    bool reads_outside(read_box const& b) {
        auto const range = at(b);
        if ((range.lo >= 0 && range.hi < extent) || --left < 0) return false;
        auto reading = readers(b);
        if (reading.may_hold && reading.may_fail && widest_side<false>(b) < 0)
            reading = truth(readers(pair_names{names(b)}));
        if (reading.never()) return false;
        bool const outside = range.hi < 0 || range.lo >= extent;
        if (outside && reading.always()) {
            found = b;
            for (auto* side : sides(found)) side->hi = side->lo;
            auto const corner = at(found);
            read_at = corner.lo < 0 ? corner.lo : corner.hi;
            return true;
        }
        auto lower = b, upper = b;
        int const widest = outside ? widest_side<false>(b) : widest_side<true>(b);
        if (widest < 0) return false;
        auto* const low = sides(lower)[static_cast<std::size_t>(widest)];
        auto* const high = sides(upper)[static_cast<std::size_t>(widest)];
        low->hi = low->lo + (low->hi - low->lo) / 2;
        high->lo = low->hi + 1;
        return reads_outside(upper) || reads_outside(lower);
    }

private:
    static std::array<interval<index_t>*, 4> sides(read_box& b) { return {&b.batch, &b.head, &b.q_idx, &b.kv_idx}; }

    /// The widest side that the index depends on, or the readers do; -1 where all of these are points.
    template <bool OfIndex>
    static int widest_side(read_box b) {
        bool const counts[] = {depends<OfIndex, batch_t>(), depends<OfIndex, head_t>(), depends<OfIndex, q_idx_t>(),
                               depends<OfIndex, kv_idx_t>()};
        int widest = -1;
        index_t most = 0;
        for (int i = 0; i < 4; ++i) {
            auto const* side = sides(b)[static_cast<std::size_t>(i)];
            if (counts[i] && side->hi - side->lo > most) most = side->hi - side->lo, widest = i;
        }
        return widest;
    }
    template <bool OfIndex, class Placeholder>
    static constexpr bool depends() {
        if constexpr (OfIndex) return uses<Index, Placeholder>;
        else return Readers::template depends_on<Placeholder>;
    }
};

}  // namespace fovea::FOVEA_SET::detail
