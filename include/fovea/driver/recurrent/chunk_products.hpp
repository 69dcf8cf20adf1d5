// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The products of a chunk of steps of a running state, in register tiles, and what decays between its steps.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/kernel/product/outer_product.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// A matrix, row after row, padded with zeros to whole vectors and, where its rows are features, to whole tiles.
template <class T>
struct padded_rows {
    T* first;
    index_t stride;

    FOVEA_INLINE T* row(index_t i) const { return first + i * stride; }
};

/// Factors that are broadcast: a matrix as it is, or its transpose.
template <class T>
using chunk_factors = broadcast_operand<T, index_t, unit_stride>;
template <class T>
using transposed_factors = broadcast_operand<T, unit_stride, index_t>;
template <class T>
FOVEA_INLINE chunk_factors<T> factors(padded_rows<T> const& a) {
    return {a.first, a.stride, {}};
}
template <class T>
FOVEA_INLINE transposed_factors<T> transposed(padded_rows<T> const& a) {
    return {a.first, {}, a.stride};
}

/// The rows of a register tile: matrices are padded to a multiple of them.
inline constexpr int chunk_tile = 8;

namespace detail {
/// to = a b, or with a scale scale to + a b; a tile of rows, and columns of so many vectors.
template <int Vectors, class T, class Arch, class Factors>
[[gnu::noinline]] void multiply_tile(Factors const& a, index_t steps, T const* FOVEA_RESTRICT b, index_t b_stride,
                                     T* FOVEA_RESTRICT to, index_t stride, T const* scale) {
    register_tile<chunk_tile, Vectors, T, Arch> tile;
    tile.add_products(number_products{}, a, vector_operand<T>{b, b_stride}, steps, [](auto const&) FOVEA_LAMBDA {});
    if (scale != nullptr) tile.add_scaled_by_row(to, stride, scale);
    tile.store(to, stride);
}
/// to += a b: one row.
template <int Vectors, class T, class Arch, class Factors>
[[gnu::noinline]] void add_row(Factors const& a, index_t steps, T const* FOVEA_RESTRICT b, index_t b_stride,
                               T* FOVEA_RESTRICT to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    T const one = 1;
    register_tile<1, Vectors, T, Arch> tile;
    tile.add_products(number_products{}, a, vector_operand<T>{b, b_stride}, steps, [](auto const&) FOVEA_LAMBDA {});
    tile.add_scaled_by_row(to, Vectors * lanes, &one);
    tile.store(to, Vectors * lanes);
}
}  // namespace detail

/// multiply: to = a b over `steps`, or with a scale for each row scale to + a b.
template <class T, class Arch, class Factors>
void multiply(Factors const& a, index_t rows, index_t steps, padded_rows<T> const& b, index_t columns,
              padded_rows<T> const& to, T const* scale = nullptr) {
    constexpr int most = Arch::registers >= 32 ? 2 : 1;
    driver::for_columns<most, 1>(columns, pack<T, Arch>::lanes, [&](auto vectors, index_t c) {
        for (index_t r = 0; r < rows; r += chunk_tile)
            detail::multiply_tile<decltype(vectors)::value, T, Arch>(a.from_row(r), steps, b.first + c, b.stride,
                                                                     to.row(r) + c, to.stride,
                                                                     scale == nullptr ? nullptr : scale + r);
    });
}

/// add_products_of_row: to += sum_j a(i, j) b(j), for j from `begin` to before `end`. What is left out is not read, so
/// that numbers that are not finite reach no row that does not depend on them.
template <class T, class Arch, class Factors>
void add_products_of_row(Factors const& a, index_t i, index_t begin, index_t end, padded_rows<T> const& b,
                         index_t columns, T* to) {
    if (begin >= end) return;
    driver::for_columns<4, 2, 1>(columns, pack<T, Arch>::lanes, [&](auto vectors, index_t c) {
        detail::add_row<decltype(vectors)::value, T, Arch>(a.from_row(i).from_step(begin), end - begin,
                                                           b.row(begin) + c, b.stride, to + c);
    });
}

/// Steps that a step of a chunk depends on: those up to it, or those from it on; itself among them, or not.
enum class chunk_part { up_to, before, from, after };

/// add_triangle: to(i) += sum_j a(i, j) b(j), over the steps j of `Part`.
template <chunk_part Part, class T, class Arch, class Factors>
void add_triangle(Factors const& a, index_t steps, padded_rows<T> const& b, index_t columns, padded_rows<T> const& to) {
    for (index_t i = 0; i < steps; ++i) {
        index_t const begin = Part == chunk_part::from ? i : Part == chunk_part::after ? i + 1 : 0;
        index_t const end = Part == chunk_part::up_to ? i + 1 : Part == chunk_part::before ? i : steps;
        add_products_of_row<T, Arch>(a, i, begin, end, b, columns, to.row(i));
    }
}

/// transpose: to[c][r] = from[r][c], of whole vectors.
template <class T, class Arch>
[[gnu::noinline]] void transpose(padded_rows<T> const& from, index_t rows, index_t columns, padded_rows<T> const& to) {
    using vector = pack<T, Arch>;
    constexpr index_t lanes = vector::lanes;
    for (index_t r = 0; r < rows; r += lanes)
        for (index_t c = 0; c < columns; c += lanes) {
            c_array<vector, static_cast<int>(lanes)> block;
            for (index_t i = 0; i < lanes; ++i) block[i] = vector::load(from.row(r + i) + c);
            lanes_of<T, Arch>::transpose(block);
            for (index_t i = 0; i < lanes; ++i) block[i].store(to.row(c + i) + r);
        }
}

/// Calls f(i, offset) for the vectors of some rows.
template <class T, class Arch, class F>
FOVEA_INLINE void for_vectors_of(index_t rows, index_t columns, F const& f) {
    for (index_t i = 0; i < rows; ++i)
        for (index_t c = 0; c < columns; c += pack<T, Arch>::lanes) f(i, c);
}
/// to = a * b, element by element.
template <class T, class Arch>
[[gnu::noinline]] void multiply_elements(index_t rows, index_t columns, padded_rows<T> const& a,
                                         padded_rows<T> const& b, padded_rows<T> const& to) {
    using vector = pack<T, Arch>;
    for_vectors_of<T, Arch>(rows, columns, [&](index_t i, index_t c) FOVEA_LAMBDA {
        (vector::load(a.row(i) + c) * vector::load(b.row(i) + c)).store(to.row(i) + c);
    });
}
/// to += a * b, element by element.
template <class T, class Arch>
[[gnu::noinline]] void add_elements(index_t rows, index_t columns, padded_rows<T> const& a, padded_rows<T> const& b,
                                    padded_rows<T> const& to) {
    using vector = pack<T, Arch>;
    for_vectors_of<T, Arch>(rows, columns, [&](index_t i, index_t c) FOVEA_LAMBDA {
        fma(vector::load(a.row(i) + c), vector::load(b.row(i) + c), vector::load(to.row(i) + c)).store(to.row(i) + c);
    });
}

/// scale_and_add: to[r][c] = scale[r] to[r][c] + a[r][c].
template <class T, class Arch>
[[gnu::noinline]] void scale_and_add(index_t rows, index_t columns, T const* scale, padded_rows<T> const& a,
                                     padded_rows<T> const& to) {
    using vector = pack<T, Arch>;
    for_vectors_of<T, Arch>(rows, columns, [&](index_t i, index_t c) FOVEA_LAMBDA {
        fma(vector(scale[i]), vector::load(to.row(i) + c), vector::load(a.row(i) + c)).store(to.row(i) + c);
    });
}
/// exchange_sum: the sum that comes to a chunk takes the place of what the chunk adds, and becomes scale sum + that.
template <class T, class Arch>
void exchange_sum(index_t columns, T scale, T* added, T* sum) {
    using vector = pack<T, Arch>;
    for_vectors_of<T, Arch>(1, columns, [&](index_t, index_t c) FOVEA_LAMBDA {
        auto const before = vector::load(sum + c), here = vector::load(added + c);
        before.store(added + c);
        fma(vector(scale), before, here).store(sum + c);
    });
}

/// Decays from step to step of a chunk: products of gates in the order of time. They never divide, so
/// that gates of 0 and long decays lose nothing.
template <class T>
struct chunk_decays {
    padded_rows<T> since_begin;  // (steps, features): of the gates up to a step
    padded_rows<T> until_end;    // (steps, features): of those after it
    T* all;                      // (features)
    padded_rows<T> between;      // (steps, steps), of gates that are alike: at [s][t] those after s, up to t
};

template <class T, class Arch>
[[gnu::noinline]] void decay_chunk(padded_rows<T> const& gates, index_t steps, index_t features, bool alike,
                                   chunk_decays<T> const& to) {
    using vector = pack<T, Arch>;
    for (index_t f = 0; f < features; f += vector::lanes) {
        vector product(T{1});
        for (index_t t = 0; t < steps; ++t) {
            product = product * vector::load(gates.row(t) + f);
            product.store(to.since_begin.row(t) + f);
        }
        product.store(to.all + f);
        product = vector(T{1});
        for (index_t t = steps - 1; t >= 0; --t) {
            product.store(to.until_end.row(t) + f);
            product = product * vector::load(gates.row(t) + f);
        }
    }
    for (index_t s = 0; alike && s < steps; ++s) {
        T product = 1;
        for (index_t t = s; t < steps; ++t) {
            if (t > s) product *= gates.row(t)[0];
            to.between.row(s)[t] = product;
        }
    }
}

/// pair_products: to[s][t] = sum_f keys[s][f] queries[t][f] (gates after s, up to t)[f], t from s on. Rows are of whole
/// vectors.
template <class T, class Arch>
[[gnu::noinline]] void pair_products(padded_rows<T> const& keys, padded_rows<T> const& queries,
                                     padded_rows<T> const& gates, index_t steps, index_t features,
                                     padded_rows<T> const& to) {
    using vector = pack<T, Arch>;
    constexpr index_t lanes = vector::lanes;
    for (index_t s = 0; s < steps; ++s) {
        for (index_t first = s / lanes * lanes; first < steps; first += lanes) vector(T{0}).store(to.row(s) + first);
        for (index_t f = 0; f < features; f += lanes) {
            auto key = vector::load(keys.row(s) + f);
            for (index_t first = s / lanes * lanes; first < steps; first += lanes) {
                c_array<vector, static_cast<int>(lanes)> product;
                for (index_t i = 0; i < lanes; ++i) {
                    index_t const t = first + i;
                    if (t > s && t < steps) key = key * vector::load(gates.row(t) + f);
                    product[i] = t >= s && t < steps ? key * vector::load(queries.row(t) + f) : vector(T{0});
                }
                (vector::load(to.row(s) + first) + lanes_of<T, Arch>::sums_of_rows(product)).store(to.row(s) + first);
            }
        }
    }
}

/// pair_gradients: the gradients of pair_products, from d[s][t]: they are added to those of queries and keys. `skip` is
/// 1 where a step reads what was there before it.
template <class T, class Arch>
[[gnu::noinline]] void pair_gradients(padded_rows<T> const& d, padded_rows<T> const& keys,
                                      padded_rows<T> const& queries, padded_rows<T> const& gates, index_t steps,
                                      index_t features, index_t skip, padded_rows<T> const& d_queries,
                                      padded_rows<T> const& d_keys) {
    using vector = pack<T, Arch>;
    for (index_t f = 0; f < features; f += vector::lanes)
        for (index_t s = 0; s < steps; ++s) {
            auto key = vector::load(keys.row(s) + f);
            vector left(T{1}), d_key(T{0});
            for (index_t t = s; t < steps; ++t) {
                if (t > s) {
                    auto const gate = vector::load(gates.row(t) + f);
                    key = key * gate;
                    left = left * gate;
                }
                if (t < s + skip) continue;
                vector const amount(d.row(s)[t]);
                fma(amount, key, vector::load(d_queries.row(t) + f)).store(d_queries.row(t) + f);
                d_key = fma(amount * left, vector::load(queries.row(t) + f), d_key);
            }
            (vector::load(d_keys.row(s) + f) + d_key).store(d_keys.row(s) + f);
        }
}

/// products_of_rows: to[r] = sum_c a[r][c] b[r][c], of whole vectors of rows.
template <class T, class Arch>
[[gnu::noinline]] void products_of_rows(index_t rows, index_t columns, padded_rows<T> const& a, padded_rows<T> const& b,
                                        T* to) {
    using vector = pack<T, Arch>;
    constexpr index_t lanes = vector::lanes;
    for (index_t r = 0; r < rows; r += lanes) {
        c_array<vector, static_cast<int>(lanes)> sums;
        for (index_t i = 0; i < lanes; ++i) {
            sums[i] = vector(T{0});
            for (index_t c = 0; c < columns; c += lanes)
                sums[i] = fma(vector::load(a.row(r + i) + c), vector::load(b.row(r + i) + c), sums[i]);
        }
        lanes_of<T, Arch>::sums_of_rows(sums).store(to + r);
    }
}

}  // namespace fovea::FOVEA_SET::kernel
