// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recurrence of a running state one step forward and one step back, with rows of the state in registers.
#pragma once

#include <fovea/driver/recurrent/recurrence.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// A state, or its gradient: (features, columns), of which the columns fill vectors.
struct state_shape {
    index_t features, columns;
    index_t size() const { return features * columns; }
};

/// A sum over the columns for each row of a state: a vector, whose lanes are joined after all panels.
template <class T, class Arch>
struct sums_of_rows {
    using vector = pack<T, Arch>;
    static constexpr index_t width = vector::lanes;
    T* all;  // (features, width), of features rounded up to width

    static index_t numbers(index_t features) { return round_up(features, width) * width; }
    FOVEA_INLINE void add(index_t f, vector const& x, bool first) const {
        (first ? x : vector::load(all + f * width) + x).store(all + f * width);
    }
    /// to[f] = x the sum of row f, and what it was before with `adds`.
    void write(index_t features, T* to) const {
        for (index_t f = 0; f < features; f += width) {
            c_array<vector, static_cast<int>(width)> rows;
            for (index_t i = 0; i < width; ++i) rows[i] = vector::load(all + (f + i) * width);
            store_as<T, Arch>(lanes_of<T, Arch>::sums_of_rows(rows), to + f, features - f);
        }
    }
};

namespace detail {
/// Calls f(constant, column) for panels of 4, 2 or 1 vectors of columns.
template <class T, class Arch, class F>
FOVEA_INLINE void for_panels(index_t columns, F const& f) {
    constexpr index_t width = pack<T, Arch>::lanes;
    index_t c = 0;
    for (; c + 4 * width <= columns; c += 4 * width) f(std::integral_constant<int, 4>(), c);
    if (c + 2 * width <= columns) f(std::integral_constant<int, 2>(), std::exchange(c, c + 2 * width));
    if (c < columns) f(std::integral_constant<int, 1>(), c);
}

/// Some vectors of a row.
template <int Vectors, class T, class Arch>
struct row_part {
    using vector = pack<T, Arch>;
    c_array<vector, Vectors> all;

    FOVEA_INLINE static row_part load(T const* from) {
        row_part row;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { row.all[v] = vector::load(from + v * vector::lanes); });
        return row;
    }
    FOVEA_INLINE void store(T* to) const {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v].store(to + v * vector::lanes); });
    }
    /// += x of, for a number x in all lanes.
    FOVEA_INLINE void add(vector const& x, row_part const& of) {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v] = fma(x, of.all[v], all[v]); });
    }
    FOVEA_INLINE void scale(vector const& x) {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { all[v] = all[v] * x; });
    }
    /// The products with another row, added up to one vector.
    FOVEA_INLINE vector times(row_part const& b) const {
        auto sum = all[0] * b.all[0];
        unrolled<Vectors - 1>([&](auto v) FOVEA_LAMBDA { sum = fma(all[v + 1], b.all[v + 1], sum); });
        return sum;
    }
};
}  // namespace detail

namespace detail {
/// S becomes gate S + scale key value^T; with Reads, sums take its products with e.
template <int Vectors, bool Reads, class T, class Arch>
[[gnu::noinline]] void advance_panel(state_shape const& n, index_t column, T* state, T const* key, T scale,
                                     T const* gate, T const* value, T const* e, sums_of_rows<T, Arch> const& sums) {
    using vector = pack<T, Arch>;
    using part = row_part<Vectors, T, Arch>;
    auto const added = part::load(value + column), read = Reads ? part::load(e + column) : added;
    for (index_t f = 0; f < n.features; ++f) {
        T* const at = state + f * n.columns + column;
        auto row = part::load(at);
        if (gate != nullptr) row.scale(vector(gate[f]));
        row.add(vector(scale * key[f]), added);
        row.store(at);
        if constexpr (Reads) sums.add(f, row.times(read), column == 0);
    }
}

/// S becomes gate S, and residual = value - S^T key.
template <int Vectors, class T, class Arch>
[[gnu::noinline]] void retrieve_panel(state_shape const& n, index_t column, T* state, T const* key, T const* gate,
                                      T const* value, T* residual) {
    using vector = pack<T, Arch>;
    using part = row_part<Vectors, T, Arch>;
    auto left = part::load(value + column);
    for (index_t f = 0; f < n.features; ++f) {
        T* const at = state + f * n.columns + column;
        auto row = part::load(at);
        if (gate != nullptr) {
            row.scale(vector(gate[f]));
            row.store(at);
        }
        left.add(vector(-key[f]), row);
    }
    left.store(residual + column);
}

/// dS grows by query e^T, with Reads; d_value = dS^T key, and sums take its products with value.
template <int Vectors, bool Reads, class T, class Arch>
[[gnu::noinline]] void back_panel(state_shape const& n, index_t column, T* d_state, T const* query, T const* e,
                                  T const* key, T const* value, T* d_value, sums_of_rows<T, Arch> const& sums) {
    using vector = pack<T, Arch>;
    using part = row_part<Vectors, T, Arch>;
    auto const added = part::load(value + column), read = Reads ? part::load(e + column) : added;
    part of_value;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { of_value.all[v] = vector(T{0}); });
    for (index_t f = 0; f < n.features; ++f) {
        T* const at = d_state + f * n.columns + column;
        auto row = part::load(at);
        if constexpr (Reads) {
            row.add(vector(query[f]), read);
            row.store(at);
        }
        of_value.add(vector(key[f]), row);
        sums.add(f, row.times(added), column == 0);
    }
    of_value.store(d_value + column);
}

/// dS becomes gate (dS - key added^T), without `added` where it is nullptr; sums take its products with the state
/// before the step.
template <int Vectors, class T, class Arch>
[[gnu::noinline]] void gate_panel(state_shape const& n, index_t column, T* d_state, T const* before, T const* key,
                                  T const* gate, T const* added, sums_of_rows<T, Arch> const& sums) {
    using vector = pack<T, Arch>;
    using part = row_part<Vectors, T, Arch>;
    auto const less = part::load((added != nullptr ? added : before) + column);
    for (index_t f = 0; f < n.features; ++f) {
        T* const at = d_state + f * n.columns + column;
        auto row = part::load(at);
        if (added != nullptr) row.add(vector(-key[f]), less);
        if (gate != nullptr) row.scale(vector(gate[f]));
        row.store(at);
        sums.add(f, row.times(part::load(before + f * n.columns + column)), column == 0);
    }
}

/// Products of the rows of a state with e.
template <int Vectors, class T, class Arch>
[[gnu::noinline]] void read_panel(state_shape const& n, index_t column, T const* state, T const* e,
                                  sums_of_rows<T, Arch> const& sums) {
    using part = row_part<Vectors, T, Arch>;
    auto const read = part::load(e + column);
    for (index_t f = 0; f < n.features; ++f)
        sums.add(f, part::load(state + f * n.columns + column).times(read), column == 0);
}
}  // namespace detail

/// One step of a state, and what it adds: scale is the rate of a correction, whose residual then stands for the value.
template <class T>
struct state_step {
    T const *key, *gate, *value;  // a gate of nullptr is 1
    T scale = 1;
    T* residual = nullptr;
};
/// The gradient e of what a query reads.
template <class T>
struct state_read {
    T const *query, *e;
};

/// One step: S = gate S + scale key value^T, with a residual = value - (gate S)^T key in place of the value. A query
/// may read it, d_query = S e.
template <class T, class Arch>
void step_forward(state_shape const& n, T* state, state_step<T> const& at, state_read<T> const* read, T* d_query,
                  sums_of_rows<T, Arch> const& sums) {
    bool const corrects = at.residual != nullptr;
    detail::for_panels<T, Arch>(n.columns, [&](auto vectors, index_t c) {
        constexpr int v = decltype(vectors)::value;
        T const *value = at.value, *gate = at.gate;
        if (corrects) {
            detail::retrieve_panel<v, T, Arch>(n, c, state, at.key, gate, value, at.residual);
            value = at.residual;
            gate = nullptr;
        }
        if (read != nullptr)
            detail::advance_panel<v, true, T, Arch>(n, c, state, at.key, at.scale, gate, value, read->e, sums);
        else detail::advance_panel<v, false, T, Arch>(n, c, state, at.key, at.scale, gate, value, nullptr, sums);
    });
    if (read != nullptr) sums.write(n.features, d_query);
}

/// The gradients of one step.
template <class T>
struct step_gradients {
    T *key, *value, *gate;  // (features), (columns), (features): of the logarithm of a gate, if there is one
    T scale = 0;
};

/// One step back: the gradient of the state after it becomes that of the state before it, `before`; a query has read
/// the state after it.
template <class T, class Arch>
void step_back(state_shape const& n, T* d_state, T const* before, state_step<T> const& at, state_read<T> const* read,
               step_gradients<T>& d, sums_of_rows<T, Arch> const& sums) {
    using vector = pack<T, Arch>;
    bool const corrects = at.residual != nullptr;
    T const* const value = corrects ? at.residual : at.value;
    detail::for_panels<T, Arch>(n.columns, [&](auto vectors, index_t c) {
        constexpr int v = decltype(vectors)::value;
        if (read != nullptr)
            detail::back_panel<v, true, T, Arch>(n, c, d_state, read->query, read->e, at.key, value, d.value, sums);
        else detail::back_panel<v, false, T, Arch>(n, c, d_state, nullptr, nullptr, at.key, value, d.value, sums);
    });
    sums.write(n.features, d.key);
    if (corrects) {
        d.scale = dot_product<T, Arch>(d.value, at.residual, n.columns);
        for (index_t c = 0; c < n.columns; c += vector::lanes)
            (vector(at.scale) * vector::load(d.value + c)).store(d.value + c);
        for (index_t f = 0; f < n.features; ++f) d.key[f] *= at.scale;
        detail::for_panels<T, Arch>(n.columns, [&](auto vectors, index_t c) {
            detail::read_panel<decltype(vectors)::value, T, Arch>(n, c, before, d.value, sums);
        });
        sums.write(n.features, d.gate);
        for (index_t f = 0; f < n.features; ++f) d.key[f] -= (at.gate != nullptr ? at.gate[f] : T{1}) * d.gate[f];
    }
    if (!corrects && at.gate == nullptr) return;
    detail::for_panels<T, Arch>(n.columns, [&](auto vectors, index_t c) {
        detail::gate_panel<decltype(vectors)::value, T, Arch>(n, c, d_state, before, at.key, at.gate,
                                                              corrects ? d.value : nullptr, sums);
    });
    sums.write(n.features, d.gate);
}

/// A query reads a state: d_query = S e; and the gradient of the state grows by query e^T.
template <class T, class Arch>
void read_gradient(state_shape const& n, T const* state, T const* e, T* d_query, sums_of_rows<T, Arch> const& sums) {
    detail::for_panels<T, Arch>(n.columns, [&](auto vectors, index_t c) {
        detail::read_panel<decltype(vectors)::value, T, Arch>(n, c, state, e, sums);
    });
    sums.write(n.features, d_query);
}
template <class T, class Arch>
[[gnu::noinline]] void add_read(state_shape const& n, state_read<T> const& read, T* d_state) {
    using vector = pack<T, Arch>;
    for (index_t f = 0; f < n.features; ++f) {
        T* const row = d_state + f * n.columns;
        for (index_t c = 0; c < n.columns; c += vector::lanes)
            fma(vector(read.query[f]), vector::load(read.e + c), vector::load(row + c)).store(row + c);
    }
}

}  // namespace fovea::FOVEA_SET::kernel
