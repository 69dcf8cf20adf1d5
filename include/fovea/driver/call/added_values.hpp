// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a table that are added to the value of each pair: what they add to the result, and their gradients.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/row.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// Where a table is read for a pair: at these indices, all but that of the feature.
template <class T, class Arch>
struct row_environment : kernel::index_environment<T, Arch, index_t> {
    using base = kernel::index_environment<T, Arch, index_t>;

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return base::lookup(table, at...);
        else return std::array<index_t, sizeof...(Index)>{at...};
    }
};

/// The rows that an expression reads.
template <class T, class Arch, class E>
class rows_of_pairs {
    using vector = kernel::pack<T, Arch>;
    using lane_operations = kernel::lanes_of<T, Arch>;

public:
    explicit rows_of_pairs(E const& e) : expression_(e) {}

    auto const& table() const { return fovea::detail::table_of(expression_); }
    /// That of a pair, which may take no part, in the table or in sums of its extents.
    template <class Element, int Rank>
    Element* of_pair(view<Element, Rank> const& in, kernel::row_coordinates const& row, index_t key) const {
        auto const at = evaluate(expression_, row_environment<T, Arch>{{row, key}});
        return std::apply([&](auto... index) { return in.data + clamped_offset(in, index...); }, at);
    }
    /// Calls f(row, first, last) for runs of keys, of which key(i) is the one in place i, that have one row: beyond the
    /// reach of a table all have.
    template <class Element, int Rank, class Key, class F>
    void for_runs(view<Element, Rank> const& in, kernel::row_coordinates const& row, index_t count, Key const& key,
                  F const& f) const {
        for (index_t first = 0; first < count;) {
            Element* const here = of_pair(in, row, key(first));
            index_t last = first + 1;
            while (last < count && of_pair(in, row, key(last)) == here) ++last;
            f(here, first, last);
            first = last;
        }
    }
    /// to += weight * row
    template <class Element>
    static void add(T weight, Element const* row, T* to, index_t count) {
        vector const factor(weight);
        for (index_t c = 0; c < count; c += vector::lanes)
            lane_operations::store(
                fma(factor, kernel::load_as<T, Arch>(row + c, count - c), lane_operations::load(to + c, count - c)),
                to + c, count - c);
    }
    template <class Element>
    static T product(Element const* row, T const* with, index_t count) {
        vector sum(T{0});
        for (index_t c = 0; c < count; c += vector::lanes)
            sum = fma(kernel::load_as<T, Arch>(row + c, count - c), lane_operations::load(with + c, count - c), sum);
        return lane_operations::sum(sum);
    }

private:
    E expression_;
};

/// An output of the loops: for each row, what the weights make of the rows that are added, (batch, head, query,
/// feature).
template <class T, class Arch, class E>
struct added_output {
    rows_of_pairs<T, Arch, E> rows;
    view<T, 4> sums;
    operand_shapes shapes;

    void begin() const { std::fill_n(sums.data, sums.size(), T{0}); }
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        kernel::row_coordinates const coordinates{at.batch,         at.head,       at.query,
                                                  shapes.queries(), shapes.keys(), shapes.compared()};
        auto const& table = rows.table();
        T* const to = sums.place(at.batch, at.head, at.query, index_t{0});
        rows.for_runs(
            table, coordinates, row.size(), [&](index_t i) { return row.key(i); },
            [&](auto const* added, index_t first, index_t last) {
                T weight = 0;
                for (index_t i = first; i < last; ++i) weight += static_cast<T>(row[i]);
                if (weight != 0) rows.add(weight, added, to, sums.extent(3));
            });
    }
};

/// The outputs of a call, with that of an aggregator that adds rows to values.
template <class T, class Arch, class A, class Outputs>
auto with_added_values(workspace& scratch, A const& a, operand_shapes const& shapes, Outputs const& outputs) {
    auto const aggregate = core_of(a.aggregate);
    if constexpr (value_adding_aggregator<std::remove_const_t<decltype(aggregate)>>) {
        auto const added = aggregate.added();
        auto const sums =
            fresh_rows<T>(scratch, {shapes.batches(), shapes.heads(), shapes.queries(), shapes.features()});
        using output = added_output<T, Arch, std::remove_const_t<decltype(added)>>;
        return std::tuple_cat(
            outputs,
            std::make_tuple(output{rows_of_pairs<T, Arch, std::remove_const_t<decltype(added)>>(added), sums, shapes}));
    } else {
        return outputs;
    }
}

/// Adds to the result what has been added to values.
template <class T, class Arch, class E, class Out>
void add_to_result(added_output<T, Arch, E> const& added, view<Out, 4> const& result) {
    for (index_t b = 0; b < result.extent(0); ++b)
        for (index_t h = 0; h < result.extent(1); ++h)
            for (index_t n = 0; n < result.extent(2); ++n)
                for (index_t c = 0; c < result.extent(3); ++c)
                    result(b, h, n, c) = rounded_to<Out>(static_cast<T>(result(b, h, n, c)) + added.sums(b, h, n, c));
}
template <class Output, class Out>
void add_to_result(Output const&, view<Out, 4> const&) {}

/// The part of an aggregator in a gradient pass over whole rows: of the weights of a row, of keys from `first` on.
///
///     begin(row, dO)                                       before all others
///     add_to_gradients(row, first, count, weights, d)      adds to the gradients of weights
///     add_to_tables(row, first, count, weights, tables)    adds to those of tables
template <class T, class Arch, class Aggregate>
struct added_gradient {
    added_gradient(arena&, Aggregate const&, index_t) {}
    template <class Facts, class D>
    void begin(Facts const&, view<D const, 4> const&) {}
    void add_to_gradients(kernel::row_coordinates const&, index_t, index_t, T const*, T*) const {}
    template <class Share>
    void add_to_tables(kernel::row_coordinates const&, index_t, index_t, T const*, Share const&) const {}
};
/// The gradients that arrive at weights by another way than the result.
template <class T, class Arch, class Core, class Number>
struct added_gradient<T, Arch, with_arriving<Core, Number>> : added_gradient<T, Arch, Core> {
    using base = added_gradient<T, Arch, Core>;
    arriving_gradients<Number> arriving;

    added_gradient(arena& memory, with_arriving<Core, Number> const& aggregate, index_t features)
        : base(memory, aggregate, features), arriving(aggregate.arriving) {}
    void add_to_gradients(kernel::row_coordinates const& row, index_t first, index_t count, T const* weights,
                          T* d) const {
        base::add_to_gradients(row, first, count, weights, d);
        for (index_t i = 0; i < count; ++i) d[i] += arriving.of(place_of(row), first + i, weights[i]);
    }
};
/// dO r is added to dO v, and weights times dO to the gradients of the rows of a table.
template <class T, class Arch, value_adding_aggregator Aggregate>
class added_gradient<T, Arch, Aggregate> {
    using rows_type = rows_of_pairs<T, Arch, decltype(std::declval<Aggregate const&>().added())>;

public:
    added_gradient(arena& memory, Aggregate const& aggregate, index_t features)
        : rows_(aggregate.added()), d_(memory.template take<T>(features)), features_(features) {}

    /// The row at hand, and its gradient.
    template <class D>
    void begin(kernel::row_coordinates const& row, view<D const, 4> const& d_result) {
        D const* const from = d_result.place(row.batch, row.head, row.q_idx, index_t{0});
        std::transform(from, from + features_, d_, [](D const& x) { return static_cast<T>(x); });
    }
    void add_to_gradients(kernel::row_coordinates const& row, index_t first, index_t count, T const*, T* d) const {
        rows_.for_runs(
            rows_.table(), row, count, [&](index_t i) { return first + i; },
            [&](auto const* added, index_t begin, index_t end) {
                T const product = rows_.product(added, d_, features_);
                for (index_t i = begin; i < end; ++i) d[i] += product;
            });
    }
    template <class Share>
    void add_to_tables(kernel::row_coordinates const& row, index_t first, index_t count, T const* weights,
                       Share const& tables) const {
        tables.for_each_sum(rows_.table(), [&](auto const& sums) {
            rows_.for_runs(
                sums, row, count, [&](index_t i) { return first + i; },
                [&](T* to, index_t begin, index_t end) {
                    T const weight = std::accumulate(weights + begin, weights + end, T{0});
                    if (weight != 0) rows_.add(weight, d_, to, features_);
                });
        });
    }

private:
    rows_type rows_;
    T* d_;
    index_t features_;
};

}  // namespace fovea::FOVEA_SET::driver
