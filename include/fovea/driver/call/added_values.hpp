// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a table that are added to the value of each pair: what they add to the result, and their gradients.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/call/rows_of_pairs.hpp>
#include <fovea/driver/run/workspace.hpp>
#include <fovea/spec/call/arriving_gradients.hpp>
#include <fovea/spec/outputs.hpp>
#include <fovea/spec/result_shapes.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace fovea::FOVEA_SET::driver {

/// An output of the loops: for each row, what the weights make of the rows that are added, (batch, head, query,
/// feature).
template <class T, class Arch, class E>
struct added_output {
    rows_of_pairs<T, Arch, E> rows;
    view<T, 4> sums;
    operand_shapes shapes;

    void begin() const { std::fill_n(sums.data, sums.size(), T{0}); }
    /// Of keys that a list has.
    template <class Row>
    void weights(row_place const& at, Row const& row) const {
        kernel::row_coordinates const coordinates{at.batch,         at.head,       at.query,
                                                  shapes.queries(), shapes.keys(), shapes.compared()};
        T* const to = sums.place(at.batch, at.head, at.query, index_t{0});
        rows.for_runs(
            rows.table(), coordinates, row.size(), [&](index_t i) { return row.key(i); },
            [&](auto const* added, index_t first, index_t last) {
                T weight = 0;
                for (index_t i = first; i < last; ++i) weight += static_cast<T>(row[i]);
                if (weight != 0) rows.add(weight, added, to, sums.extent(3));
            });
    }
    /// Of keys side by side.
    void weights_of_tile(tile_of_pairs<T const> const& tile) const {
        rows.add_weighted(tile, sums.extent(3), [&](kernel::row_coordinates const& at) {
            return sums.place(at.batch, at.head, at.q_idx, index_t{0});
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
    auto const add_row = [](T const* from, index_t count, Out* FOVEA_RESTRICT to) {
        for (index_t c = 0; c < count; ++c) to[c] = rounded_to<Out>(static_cast<T>(to[c]) + from[c]);
    };
    for (index_t b = 0; b < result.extent(0); ++b)
        for (index_t h = 0; h < result.extent(1); ++h)
            for (index_t n = 0; n < result.extent(2); ++n)
                add_row(added.sums.place(b, h, n, index_t{0}), result.extent(3), result.place(b, h, n, index_t{0}));
}
template <class Output, class Out>
void add_to_result(Output const&, view<Out, 4> const&) {}

/// The part of an aggregator in a gradient pass over whole rows: of the weights of a row, of keys from `first` on.
///
///     begin(tile, dO)                                   before all others; adds to the gradients of weights of a tile
///     add_to_gradients(row, first, count, weights, d)   adds to those of a row
///     add_to_tables(tile, tables)                       adds to those of tables, by the weights of a tile
template <class T, class Arch, class Aggregate>
struct added_gradient {
    added_gradient(arena&, Aggregate const&, index_t) {}
    template <class D>
    void begin(tile_of_pairs<T> const&, view<D const, 4> const&) {}
    void add_to_gradients(kernel::row_coordinates const&, index_t, index_t, T const*, T*) const {}
    template <class Share>
    void add_to_tables(tile_of_pairs<T const> const&, Share const&) const {}
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
        : rows_(aggregate.added()), d_rows_(memory, features) {}

    template <class D>
    void begin(tile_of_pairs<T> const& d_weights, view<D const, 4> const& d_result) {
        d_rows_.take(d_weights.count, [&](index_t r) {
            auto const& at = d_weights.rows[r];
            return d_result.place(at.batch, at.head, at.q_idx, index_t{0});
        });
        rows_.add_products(d_rows_, d_weights);
    }
    void add_to_gradients(kernel::row_coordinates const&, index_t, index_t, T const*, T*) const {}
    template <class Share>
    void add_to_tables(tile_of_pairs<T const> const& weights, Share const& tables) const {
        tables.for_each_sum(rows_.table(), [&](auto const& sums) { rows_.add_to_table(d_rows_, weights, sums); });
    }

private:
    rows_type rows_;
    feature_rows<T, Arch> d_rows_;
};

}  // namespace fovea::FOVEA_SET::driver
