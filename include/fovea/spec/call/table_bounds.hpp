// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads outside a table or of pages that are not there: intervals first, then a search for a pair that reads beside the
// elements.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/core/paged.hpp>
#include <fovea/expr/analyze.hpp>
#include <fovea/expr/bound.hpp>
#include <fovea/expr/param.hpp>
#include <fovea/spec/attention.hpp>
#include <fovea/spec/feature_tables.hpp>
#include <fovea/spec/finish.hpp>
#include <fovea/spec/result_shapes.hpp>
#include <fovea/spec/shapes.hpp>

#include <array>
#include <limits>
#include <optional>
#include <string>

namespace fovea::FOVEA_SET::detail {

/// A box of pairs, and of edges where keys are listed.
struct read_box : box {
    interval<index_t> edge{0};
};

template <class Real>
struct read_environment : bound_environment<Real> {
    interval<index_t> edges;
    explicit constexpr read_environment(read_box const& b, index_t most = elements_in_box)
        : bound_environment<Real>{b, most}, edges(b.edge) {}
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
        if (table.empty()) return arithmetic::constant(value_of_element<T>{});
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

    /// The range of an index over a box; one number where the box is a point on the sides that the index depends on.
    interval<index_t> at(read_box const& b) const {
        interval<index_t> const range = evaluate(index, names(b));
        if constexpr (is_known_of_pair<Index>)
            if (range.lo != range.hi && b.edge.lo == b.edge.hi && widest_side<true>(b) < 0)
                return evaluate(index, pair_names{names(b)});
        return range;
    }
    /// Tables of up to `most` elements are looked at.
    bool is_inside(read_box const& b, index_t most) const {
        interval<index_t> const range = evaluate(index, names(b, most));
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

namespace fovea::FOVEA_SET {

namespace detail {
/// The pairs of a call: all of a box, or those that a list of keys names.
struct read_pairs {
    read_box all;
    std::optional<graph_view> listed{};

    template <class Search>
    bool any_outside(Search& search) const {
        if (!listed) return search.reads_outside(all);
        auto whole = all;
        whole.edge = {0, listed->edges() - 1};
        if (listed->edges() == 0 || search.is_inside(whole, std::max(elements_in_box, listed->edges()))) return false;
        search.left += listed->edges();
        auto b = whole;
        for (index_t i = 0; i < listed->queries(); ++i) {
            b.q_idx = i;
            index_t place = listed->offsets[static_cast<std::size_t>(i)];
            for (auto const key : listed->of(i)) {
                b.kv_idx = key;
                b.edge = listed->number(place++);
                if (search.reads_outside(b)) return true;
            }
        }
        return false;
    }
};

template <class T, int Rank, class Index, class Readers>
void check_index(view<T const, Rank> const& table, int axis, Index const& index, Readers const& readers,
                 read_pairs const& pairs) {
    if constexpr (Readers::is_known) {
        read_search<Index, Readers> search{index, table.extent(axis), readers};
        if (!pairs.any_outside(search)) return;
        auto const& b = search.found;
        raise_error(shape_error("a table of extents ", table.extents, " is read at ", search.read_at, " along axis ",
                                axis, ", which has ", counted(table.extent(axis), "element"), ": batch ", b.batch.lo,
                                ", head ", b.head.lo, ", q_idx ", b.q_idx.lo, ", kv_idx ", b.kv_idx.lo));
    }
}

/// Integers of the language have a sign: elements of 2^63 and more are none.
template <class T, int Rank>
void require_signed(view<T const, Rank> const& table) {
    if constexpr (std::is_unsigned_v<T> && sizeof(value_of_element<T>) == sizeof(index_t)) {
        auto const greatest = range_of(table, whole_of(table), std::numeric_limits<index_t>::max());
        if (greatest.lo < 0)
            raise_error(shape_error("a table of extents ", table.extents,
                                    " holds an unsigned integer of 2^63 or "
                                    "more: integers in expressions are at most 2^63 - 1"));
    }
}

template <class E, class Readers>
void check_reads(E const& e, Readers const& readers, read_pairs const& pairs) {
    if constexpr (is_parameter<E> || !reads_a_table<E>) return;
    else if constexpr (is_node_of<at_operation, E>) {
        with_children(e, [&](auto const& table, auto const&... indices) {
            require_signed(table.table);
            (check_reads(indices, readers, pairs), ...);
            int axis = 0;
            (check_index(table.table, axis++, indices, readers, pairs), ...);
        });
    } else if constexpr (is_node_of<operations::logical_and, E> || is_node_of<operations::logical_or, E>) {
        using first = std::remove_cvref_t<decltype(get<0>(e))>;
        check_reads(get<0>(e), readers, pairs);
        check_reads(get<1>(e),
                    readers_where<Readers, first>{readers, get<0>(e), is_node_of<operations::logical_and, E>}, pairs);
    } else if constexpr (is_node_of<operations::select, E>) {
        using condition = std::remove_cvref_t<decltype(get<0>(e))>;
        check_reads(get<0>(e), readers, pairs);
        check_reads(get<1>(e), readers_where<Readers, condition>{readers, get<0>(e), true}, pairs);
        check_reads(get<2>(e), readers_where<Readers, condition>{readers, get<0>(e), false}, pairs);
    } else {
        with_children(e, [&](auto const&... children) { (check_reads(children, readers, pairs), ...); });
    }
}

/// The box of all pairs of a call.
inline read_box all_pairs(operand_shapes const& shapes) {
    return {{{0, shapes.batches() - 1},
             {0, shapes.heads() - 1},
             {0, shapes.queries() - 1},
             {0, shapes.keys() - 1},
             shapes.queries(),
             shapes.keys(),
             shapes.compared()},
            {}};
}

/// The pairs that a mask leaves to its condition: those that it lists, or all of a call.
template <attention_spec A>
read_pairs pairs_of(A const& a, operand_shapes const& shapes) {
    read_pairs pairs{all_pairs(shapes)};
    if constexpr (enumerating_mask<decltype(a.mask)>) pairs.listed = a.mask.neighbor_list();
    return pairs;
}

/// Reads of a normalizer happen once for each row.
template <class Real>
struct reads_of_rows {
    read_pairs const& rows;
    double operator()(auto const& e) const {
        check_reads(e, every_reader<Real>{}, rows);
        return 1;
    }
};
}  // namespace detail

/// check_tables: no pair that takes part may read a table of the specification beside its elements, in a call whose
/// arithmetic is Real.
///
/// Cost: one interval for each index of a table; where that is too wide, intervals over boxes of pairs. What 65536
/// boxes do not decide is not reported; the engine then reads the element nearest to the index.
/// Errors: shape_error naming the table's extents, the index, its axis and the pair; or a table of unsigned integers
/// that need all 64 bits.
template <class Real, attention_spec A>
void check_tables(A const& a, operand_shapes const& shapes) {
    using namespace detail;
    auto const score = a.score.expression();
    auto const visible = a.mask.predicate();
    auto const weight = reweighting_of(a.normalize);
    read_pairs const whole{all_pairs(shapes)};
    if (shapes.batches() == 0 || shapes.heads() == 0 || shapes.queries() == 0) return;
    for_each_finish(a.aggregate, [&](auto const& finish) {
        auto rows = whole;
        rows.all.head = rows.all.kv_idx = index_t{0};
        if constexpr (pointwise_finish<std::remove_cvref_t<decltype(finish)>>) {
            auto const expression = finish.expression();
            check_reads(expression, every_reader<Real>{}, rows);
        }
    });
    auto const normalizer = normalizer_of(a.normalize);
    if constexpr (row_dependent_normalizer<std::remove_const_t<decltype(normalizer)>>) {
        auto rows = whole;
        rows.all.kv_idx = index_t{0};
        static_cast<void>(normalizer.for_row(reads_of_rows<Real>{rows}));
    }
    if (shapes.keys() == 0) return;
    auto const pairs = pairs_of(a, shapes);
    every_reader<Real> const all;
    readers_where<every_reader<Real>, std::remove_const_t<decltype(visible)>> const seeing{all, visible, true};
    check_reads(visible, all, pairs);
    check_reads(score, seeing, pairs);
    check_reads(weight, seeing, pairs);
    if constexpr (adds_to_values<A>) {
        auto const added = core_of(a.aggregate).added();
        check_reads(added, seeing, pairs);
    }
}

}  // namespace fovea::FOVEA_SET

namespace fovea::FOVEA_SET {

/// check_visible_pages: no pair that takes part may lie in a page that is not there, in a call whose arithmetic is
/// Real.
///
/// Cost: the entries of the table, once; where some are below 0, intervals of the mask over boxes of pairs.
/// Errors: shape_error naming the position and a query that sees it; also where 65536 boxes do not tell whether any
/// does.
template <class Real, attention_spec A, class Rows>
void check_visible_pages(A const& a, Rows const& rows, operand_shapes const& shapes, char const* argument) {
    if constexpr (requires { rows.for_each_source([](auto const&) {}); }) {
        rows.for_each_source([&](auto const& source) { check_visible_pages<Real>(a, source, shapes, argument); });
    } else if constexpr (is_paged<Rows>) {
        using namespace detail;
        if (shapes.batches() == 0 || shapes.heads() == 0 || shapes.queries() == 0 || shapes.keys() == 0) return;
        auto const page = param(rows.table)(batch_t{}, kv_idx_t{} / rows.pages.extent(2));
        auto const visible = a.mask.predicate();
        every_reader<Real> const all;
        readers_where<every_reader<Real>, std::remove_const_t<decltype(visible)>> const seeing{all, visible, true};
        read_search<std::remove_const_t<decltype(page)>, std::remove_const_t<decltype(seeing)>> search{
            page, std::numeric_limits<index_t>::max(), seeing};
        if (pairs_of(a, shapes).any_outside(search)) {
            auto const& pair = search.found;
            raise_error(shape_error(argument, " has no page for position ", pair.kv_idx.lo, " of batch ", pair.batch.lo,
                                    ", where its table has ", search.read_at, ", and query ", pair.q_idx.lo,
                                    " of head ", pair.head.lo, " sees it: mask such positions, as key_lengths does"));
        }
        if (search.left < 0)
            raise_error(shape_error(argument,
                                    " has pages that are not there, and it could not be found out whether a query "
                                    "sees a position in one: mask such positions, as key_lengths does"));
    }
}

}  // namespace fovea::FOVEA_SET
