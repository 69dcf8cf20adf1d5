// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of a sequence that every rank knows whole, and of which each holds some positions.
#pragma once

#include <fovea/interop/mpi_gradient.hpp>

#include "mpi/sequence.hpp"

#include <algorithm>
#include <cmath>

namespace sequences {

/// The gradients of a call: of queries, keys and values that some rank holds, and of a table.
template <class Table>
struct gradients {
    tensor<float, 4> query, key, value;
    Table table;

    gradients(tensor<float, 4> const& q, tensor<float, 4> const& k, tensor<float, 4> const& v, Table const& t)
        : query(q.extents, 7), key(k.extents, 7), value(v.extents, 7), table(t.extents, 7) {}
    bool operator==(gradients const& other) const {
        return query.elements == other.query.elements && key.elements == other.key.elements
            && value.elements == other.value.elements && table.elements == other.table.elements;
    }
};

/// True where numbers differ by less than what rounding the sums in another order does.
template <class T, int Rank>
bool are_close(tensor<T, Rank> const& a, tensor<T, Rank> const& b) {
    double most = 0;
    for (T const x : b.elements) most = std::max(most, std::abs(static_cast<double>(x)));
    bool close = a.extents == b.extents;
    for (std::size_t i = 0; close && i < a.elements.size(); ++i)
        close = std::abs(static_cast<double>(a.elements[i]) - static_cast<double>(b.elements[i])) <= 3e-6 * most;
    return close;
}

struct differentiated {
    sequence<float> of;
    tensor<float, 4> d;

    explicit differentiated(sequence<float> const& whole) : of(whole), d(of.result()) {
        for (auto& x : d.elements) x = static_cast<float>(of.random.real(-1, 1));
    }

    template <class Spec, class Table>
    gradients<Table> plain(Spec const& spec, Table const& table) const {
        gradients<Table> all(of.q, of.k, of.v, table);
        gradient(spec, of.q, of.k, of.v, d, grad(of.q, all.query), grad(of.k, all.key), grad(of.v, all.value),
                 grad(table, all.table));
        return all;
    }

    /// The share of this rank of all of them; `saves`: of a call of attend before.
    template <class Queries, class Keys, class Spec, class Table>
    gradients<Table> over(MPI_Comm comm, Queries const& queries, Keys const& keys, index_t piece, Spec const& spec,
                          Table const& table, bool saves, index_t workers = 2) const {
        bool const alone = comm == MPI_COMM_SELF;
        auto const ranks = mpi::ranks(comm, queries, keys).pieces(piece);
        auto const some = [&](tensor<float, 4> const& rows, auto const& layout) {
            return alone ? rows : rows_of(rows, held_here(layout, rows.extent(2)));
        };
        auto const q = some(of.q, queries), k = some(of.k, keys), v = some(of.v, keys), d_out = some(d, queries);
        saved_rows<float> state;
        if (saves) {
            tensor<float, 4> out(d_out.extents);
            attend(threads(workers), ranks, spec, q, k, v, out, save(state));
        }
        gradients<Table> own(q, k, v, table);
        gradient(threads(workers), ranks, spec, q, k, v, d_out, state, grad(q, own.query), grad(k, own.key),
                 grad(v, own.value), grad(table, own.table));
        return own;
    }

    template <class Table, class Queries, class Keys>
    void check_close(gradients<Table> const& got, gradients<Table> const& all, Queries const& queries,
                     Keys const& keys) const {
        CHECK(are_close(got.query, rows_of(all.query, held_here(queries, of.q.extent(2)))));
        CHECK(are_close(got.key, rows_of(all.key, held_here(keys, of.k.extent(2)))));
        CHECK(are_close(got.value, rows_of(all.value, held_here(keys, of.k.extent(2)))));
        CHECK(are_close(got.table, all.table));
    }
    template <class Queries, class Keys, class Spec, class Table>
    void check(Queries const& queries, Keys const& keys, index_t piece, Spec const& spec, Table const& table) const {
        INFO("rank " << world_rank() << " of " << world_size() << ", " << queries.text() << ", " << keys.text() << ", "
                     << text(spec));
        auto const all = plain(spec, table);
        check_close(over(MPI_COMM_WORLD, queries, keys, piece, spec, table, false), all, queries, keys);
        check_close(over(MPI_COMM_WORLD, queries, keys, piece, spec, table, true), all, queries, keys);
    }
    template <class Layout, class Spec, class Table>
    void check(Layout const& layout, index_t piece, Spec const& spec, Table const& table) const {
        check(layout, layout, piece, spec, table);
    }
};

}  // namespace sequences
