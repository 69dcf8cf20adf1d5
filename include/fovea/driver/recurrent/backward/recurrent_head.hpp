// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of the gradient of a running state, for one head.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/recurrent/chunk_products.hpp>
#include <fovea/driver/recurrent/recurrent.hpp>
#include <fovea/driver/run/workspace.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// The states of all heads, (batch, key head, feature, column): that before the first step, and the gradient of the one
/// after the last, which becomes that of the first. Without memory where no state goes in or out.
template <class T>
struct end_states {
    T const* past = nullptr;
    T* d = nullptr;
};

/// The memory of the sweeps over one head, and the arrays of one chunk of its steps; rows are padded with zeros.
template <class Call>
class recurrent_head {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using rows = kernel::padded_rows<T>;
    static constexpr bool gated = Call::gated, corrected = Call::delta_rule, divides = Call::keeps_key_sum;
    static constexpr index_t chunk = Call::steps_at_once, lanes = kernel::pack<T, Arch>::lanes;

public:
    index_t features, columns;           // of a state, padded
    head_task<T> task;                   // keys, gates and queries of a chunk
    rows state, d_state, states;         // (features, columns), and the states before some chunks, one after the other
    rows reads;                          // (features, columns): what several heads read
    rows starts;                         // the state before each run of chunks
    rows residuals;                      // (keys, columns) of a correction: value - S^T key
    rows added, d_added;                 // (chunk, columns): what a step adds to the state for its key
    rows e;                              // (chunk, columns): the gradient of what a query reads
    rows keys_left, queries_left;        // (chunk, features): decayed until the end, and since the beginning
    rows d_key, d_key_between, d_query;  // (chunk, features)
    rows d_decay;                        // (chunk, features)
    rows in_lanes, of_rows;              // transposed: (features or columns, chunk)
    rows weights, d_weights;             // (chunk, chunk): at [s][t] of key s and query t
    kernel::chunk_decays<T> decays;
    T* ones;                  // (features or chunk)
    T *sum_of_keys, *of_end;  // (features)

    /// A head whose state, and its gradient, begin as zeros.
    recurrent_head(typename Call::operands const& x, arena& memory, index_t head, index_t kept, index_t runs)
        : task{}, x_(x) {
        features = padded_features(x);
        columns = padded_columns(x);
        index_t const group = x.group(), longest = std::max(features, columns);
        auto const take = [&](index_t count) {
            T* const taken = memory.template take<T>(count);
            std::fill_n(taken, count, T{0});
            return taken;
        };
        auto const matrix = [&](index_t n, index_t width) { return rows{take(n * width), width}; };
        task.batch = head / x.key_heads();
        task.head = head % x.key_heads();
        task.row = features;
        task.keys = take(chunk * features);
        task.gates = take(gated ? chunk * features : 0);
        task.queries = take(chunk * group * features);
        state = matrix(features, columns);
        d_state = matrix(features, columns);
        reads = matrix(group > 1 ? features : 0, columns);
        states = {memory.template take<T>(kept * size()), columns};
        starts = {memory.template take<T>(runs * size()), columns};
        residuals = {memory.template take<T>(corrected ? round_up(x.keys(), chunk) * columns : 0), columns};
        added = matrix(chunk, columns);
        d_added = matrix(chunk, columns);
        e = matrix(chunk, columns);
        keys_left = matrix(gated ? chunk : 0, features);
        queries_left = matrix(gated ? chunk : 0, features);
        d_key = matrix(chunk, features);
        d_key_between = matrix(chunk, features);
        d_query = matrix(chunk, features);
        d_decay = matrix(gated ? chunk : 0, features);
        in_lanes = matrix(longest, chunk);
        of_rows = matrix(longest, chunk);
        weights = matrix(chunk, chunk);
        d_weights = matrix(chunk, chunk);
        decays.since_begin = matrix(gated ? chunk : 0, features);
        decays.until_end = matrix(gated ? chunk : 0, features);
        decays.all = take(features);
        decays.between = matrix(gated ? chunk : 0, chunk);
        ones = take(std::max(features, chunk));
        sum_of_keys = take(divides ? features : 0);
        of_end = take(gated ? features : 0);
        std::fill_n(ones, std::max(features, chunk), T{1});
        std::fill_n(decays.all, features, T{1});
    }

    index_t size() const { return features * columns; }
    static index_t padded_features(typename Call::operands const& x) {
        return round_up(std::max<index_t>(x.key_features(), 1), std::max<index_t>(lanes, kernel::chunk_tile));
    }
    static index_t padded_columns(typename Call::operands const& x) {
        return round_up(std::max<index_t>(columns_of(x), 1), lanes);
    }
    static index_t columns_of(typename Call::operands const& x) { return x.value_features() + (divides ? 1 : 0); }

    /// One row of such a state: zeros where there is none.
    static void load_row(typename Call::operands const& x, T const* all, index_t head, index_t f, T* to) {
        std::fill_n(to, padded_columns(x), T{0});
        if (all != nullptr && f < x.key_features())
            std::copy_n(all + (head * x.key_features() + f) * columns_of(x), columns_of(x), to);
    }
    static void store_row(typename Call::operands const& x, T const* from, index_t head, index_t f, T* all) {
        if (all != nullptr && f < x.key_features())
            std::copy_n(from, columns_of(x), all + (head * x.key_features() + f) * columns_of(x));
    }

    /// Begins with the states of this head, if there are any.
    void begin(end_states<T> const& ends, index_t head) const {
        for (index_t f = 0; f < features; ++f) {
            load_row(x_, ends.past, head, f, state.row(f));
            load_row(x_, ends.d, head, f, d_state.row(f));
        }
    }
    /// Leaves the gradient of the state before the first step.
    void leave(end_states<T> const& ends, index_t head) const {
        for (index_t f = 0; f < features; ++f) store_row(x_, d_state.row(f), head, f, ends.d);
    }

private:
    typename Call::operands const& x_;
};

}  // namespace fovea::FOVEA_SET::driver
