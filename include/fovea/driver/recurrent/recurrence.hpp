// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recurrence of a running state, a panel of its columns at a time: each row of the panel is loaded once, and gated,
// updated and read by queries in registers.
#pragma once

#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The operands of a few steps, in scratch memory.
template <class T>
struct state_steps {
    T const* keys;     // (steps, features)
    T const* gates;    // (steps, features); not read where there are none
    T const* values;   // (steps, width)
    T const* queries;  // (steps, heads, features)
    T* results;        // (steps, heads, width)
    index_t features;
    index_t heads;  // queries that read after each step
};

/// advance: at each step the state is gated, the outer product of key and value is added, and queries read the sum.
///
///     state = gate state + key value^T,   result = state^T query
template <int Steps, int Reads, bool Gated, int Vectors, class T, class Arch>
[[gnu::noinline]] void advance(T* FOVEA_RESTRICT state,  // (features, Vectors * lanes)
                               state_steps<T> const& at) {
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array_2d<vector, Steps, Vectors> value;
    c_array_2d<vector, Steps * Reads + 1, Vectors> sum;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        unrolled<Steps>([&](auto t)
                            FOVEA_LAMBDA { value[t][v] = vector::load(at.values + t * width + v * vector::lanes); });
        unrolled<Steps * Reads>([&](auto i) FOVEA_LAMBDA { sum[i][v] = vector(T{0}); });
    });
    for (index_t f = 0; f < at.features; ++f) {
        T* const row = state + f * width;
        c_array<vector, Vectors> s;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { s[v] = vector::load(row + v * vector::lanes); });
        unrolled<Steps>([&](auto t) FOVEA_LAMBDA {
            vector const key(at.keys[t * at.features + f]);
            if constexpr (Gated) {
                vector const gate(at.gates[t * at.features + f]);
                unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { s[v] = s[v] * gate; });
            }
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { s[v] = fma(key, value[t][v], s[v]); });
            unrolled<Reads>([&](auto r) FOVEA_LAMBDA {
                vector const query(at.queries[(t * at.heads + r) * at.features + f]);
                unrolled<Vectors>(
                    [&](auto v) FOVEA_LAMBDA { sum[t * Reads + r][v] = fma(query, s[v], sum[t * Reads + r][v]); });
            });
        });
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { s[v].store(row + v * vector::lanes); });
    }
    unrolled<Steps>([&](auto t) FOVEA_LAMBDA {
        unrolled<Reads>([&](auto r) FOVEA_LAMBDA {
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                sum[t * Reads + r][v].store(at.results + (t * at.heads + r) * width + v * vector::lanes);
            });
        });
    });
}

/// read_state: queries read a state that does not change: results[r] = state^T queries[r].
template <int Reads, int Vectors, class T, class Arch>
[[gnu::noinline]] void read_state(T const* FOVEA_RESTRICT state,    // (features, Vectors * lanes)
                                  T const* FOVEA_RESTRICT queries,  // (Reads, features)
                                  index_t features,
                                  T* FOVEA_RESTRICT results) {  // (Reads, Vectors * lanes)
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array_2d<vector, Reads, Vectors> sum;
    unrolled<Reads>([&](auto r)
                        FOVEA_LAMBDA { unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); }); });
    for (index_t f = 0; f < features; ++f) {
        c_array<vector, Vectors> s;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { s[v] = vector::load(state + f * width + v * vector::lanes); });
        unrolled<Reads>([&](auto r) FOVEA_LAMBDA {
            vector const query(queries[r * features + f]);
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v] = fma(query, s[v], sum[r][v]); });
        });
    }
    unrolled<Reads>([&](auto r) FOVEA_LAMBDA {
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { sum[r][v].store(results + r * width + v * vector::lanes); });
    });
}

/// gate_and_retrieve: state = gate state in place, then the value that it stores for a key: retrieved = state^T key.
template <bool Gated, int Vectors, class T, class Arch>
[[gnu::noinline]] void gate_and_retrieve(T* FOVEA_RESTRICT state,       // (features, Vectors * lanes)
                                         T const* FOVEA_RESTRICT key,   // (features)
                                         T const* FOVEA_RESTRICT gate,  // (features)
                                         index_t features,
                                         T* FOVEA_RESTRICT retrieved) {  // (Vectors * lanes)
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array<vector, Vectors> read;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { read[v] = vector(T{0}); });
    for (index_t f = 0; f < features; ++f) {
        T* const row = state + f * width;
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            auto s = vector::load(row + v * vector::lanes);
            if constexpr (Gated) {
                s = s * vector(gate[f]);
                s.store(row + v * vector::lanes);
            }
            read[v] = fma(vector(key[f]), s, read[v]);
        });
    }
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA { read[v].store(retrieved + v * vector::lanes); });
}

/// delta_rule: value = rate (value - retrieved), both (Vectors * lanes).
template <int Vectors, class T, class Arch>
void delta_rule(T const* retrieved, T rate, T* value) {
    using vector = pack<T, Arch>;
    for (index_t c = 0; c < Vectors * vector::lanes; c += vector::lanes)
        (vector(rate) * (vector::load(value + c) - vector::load(retrieved + c))).store(value + c);
}

/// advance_and_read: one step, and in the same pass over the state the gate of the next step and the value retrieved
/// for its key: retrieved = state^T next key.
template <int Reads, bool Gated, int Vectors, class T, class Arch>
[[gnu::noinline]] void advance_and_read(T* FOVEA_RESTRICT state,        // (features, Vectors * lanes)
                                        state_steps<T> const& at,       // two steps
                                        T* FOVEA_RESTRICT retrieved) {  // (Vectors * lanes)
    using vector = pack<T, Arch>;
    constexpr index_t width = Vectors * vector::lanes;
    c_array<vector, Vectors> value;
    c_array<vector, Vectors> read;
    c_array_2d<vector, Reads + 1, Vectors> sum;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        value[v] = vector::load(at.values + v * vector::lanes);
        read[v] = vector(T{0});
        unrolled<Reads>([&](auto r) FOVEA_LAMBDA { sum[r][v] = vector(T{0}); });
    });
    for (index_t f = 0; f < at.features; ++f) {
        T* const row = state + f * width;
        vector const key(at.keys[f]), next(at.keys[at.features + f]);
        unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
            auto s = fma(key, value[v], vector::load(row + v * vector::lanes));
            unrolled<Reads>(
                [&](auto r) FOVEA_LAMBDA { sum[r][v] = fma(vector(at.queries[r * at.features + f]), s, sum[r][v]); });
            if constexpr (Gated) s = s * vector(at.gates[at.features + f]);
            read[v] = fma(next, s, read[v]);
            s.store(row + v * vector::lanes);
        });
    }
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        read[v].store(retrieved + v * vector::lanes);
        unrolled<Reads>([&](auto r) FOVEA_LAMBDA { sum[r][v].store(at.results + r * width + v * vector::lanes); });
    });
}

/// The dot product of two rows.
template <class T, class Arch>
T dot_product(T const* a, T const* b, index_t n) {
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;
    vector total(T{0});
    for (index_t i = 0; i < n; i += vector::lanes)
        total = fma(lane_operations::load(a + i, n - i), lane_operations::load(b + i, n - i), total);
    return lane_operations::sum(total);
}

}  // namespace fovea::FOVEA_SET::kernel
