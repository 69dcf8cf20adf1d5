// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recurrence of a running state one step forward and one step back: rows of the state are whole vectors.
#pragma once

#include <fovea/kernel/recurrence.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// A state, or its gradient: (features, columns), of which the columns fill vectors.
struct state_shape {
    index_t features, columns;
    index_t size() const { return features * columns; }
};

/// to += x from, whole vectors.
template <class T, class Arch>
FOVEA_INLINE void add_scaled(T x, T const* from, T* to, index_t count) {
    using vector = pack<T, Arch>;
    for (index_t c = 0; c < count; c += vector::lanes)
        fma(vector(x), vector::load(from + c), vector::load(to + c)).store(to + c);
}
/// to = x from, whole vectors.
template <class T, class Arch>
FOVEA_INLINE void scale_row(T x, T const* from, T* to, index_t count) {
    using vector = pack<T, Arch>;
    for (index_t c = 0; c < count; c += vector::lanes) (vector(x) * vector::load(from + c)).store(to + c);
}

/// One step: S = gate S + key value^T. Where `residual` is given the value is corrected: residual = value - (gate S)^T
/// key, and rate times that is added. A gate of nullptr is 1.
template <class T, class Arch>
[[gnu::noinline]] void step_forward(state_shape const& n, T* state, T const* key, T const* gate, T const* value, T rate,
                                    T* residual) {
    for (index_t f = 0; gate != nullptr && f < n.features; ++f) {
        T* const row = state + f * n.columns;
        scale_row<T, Arch>(gate[f], row, row, n.columns);
    }
    if (residual != nullptr) {
        std::copy_n(value, n.columns, residual);
        for (index_t f = 0; f < n.features; ++f)
            add_scaled<T, Arch>(-key[f], state + f * n.columns, residual, n.columns);
        for (index_t f = 0; f < n.features; ++f)
            add_scaled<T, Arch>(rate * key[f], residual, state + f * n.columns, n.columns);
    } else {
        for (index_t f = 0; f < n.features; ++f) add_scaled<T, Arch>(key[f], value, state + f * n.columns, n.columns);
    }
}

/// The gradients of one step.
template <class T>
struct step_gradients {
    T *key, *value, *gate;  // (features), (columns), (features); that of the logarithm of a gate
    T rate;
};

/// One step back: the gradient of the state after it becomes that of the state before it, `before`.
template <class T, class Arch>
[[gnu::noinline]] void step_back(state_shape const& n, T* d_state, T const* before, T const* key, T const* gate,
                                 T const* value, T rate, T const* residual, step_gradients<T>& d) {
    index_t const columns = n.columns;
    bool const corrects = residual != nullptr;
    std::fill_n(d.value, columns, T{0});
    for (index_t f = 0; f < n.features; ++f) {
        T const* const row = d_state + f * columns;
        d.key[f] =
            corrects ? rate * dot_product<T, Arch>(row, residual, columns) : dot_product<T, Arch>(row, value, columns);
        add_scaled<T, Arch>(key[f], row, d.value, columns);
    }
    if (corrects) {
        d.rate = dot_product<T, Arch>(d.value, residual, columns);
        scale_row<T, Arch>(rate, d.value, d.value, columns);
        for (index_t f = 0; f < n.features; ++f) {
            T const kept = gate != nullptr ? gate[f] : T{1};
            d.key[f] -= kept * dot_product<T, Arch>(before + f * columns, d.value, columns);
            add_scaled<T, Arch>(-key[f], d.value, d_state + f * columns, columns);
        }
    }
    for (index_t f = 0; gate != nullptr && f < n.features; ++f) {
        T* const row = d_state + f * columns;
        scale_row<T, Arch>(gate[f], row, row, columns);
        d.gate[f] = dot_product<T, Arch>(row, before + f * columns, columns);
    }
}

/// A query reads a state: the gradient of the query is S e, that of the state grows by query e^T, for the gradient e of
/// what is read.
template <class T, class Arch>
[[gnu::noinline]] void read_gradient(state_shape const& n, T const* state, T const* e, T* d_query) {
    for (index_t f = 0; f < n.features; ++f) d_query[f] = dot_product<T, Arch>(state + f * n.columns, e, n.columns);
}
template <class T, class Arch>
[[gnu::noinline]] void add_read(state_shape const& n, T const* query, T const* e, T* d_state) {
    for (index_t f = 0; f < n.features; ++f) add_scaled<T, Arch>(query[f], e, d_state + f * n.columns, n.columns);
}

}  // namespace fovea::FOVEA_SET::kernel
