// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The microkernel of dense products: a sum of outer products, a column of broadcast elements by a row of vectors, in
// registers. Loops of their own have keys in place (`kernel/product/contract_rows.hpp`), whose lanes hold features, and
// bfloat16 (`kernel/product/bf16_product.hpp`).
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/product/rows_in_place.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// A step of a sum of products: sum + a b, of packs whose lanes hold `per_step` elements of a row each. `scales`: the
/// factor of a row is applied to its sums, since the elements of a lane cannot be multiplied by it beforehand.
template <class Step>
concept step_of_products = requires {
    { Step::per_step } -> std::convertible_to<index_t>;
    { Step::scales } -> std::convertible_to<bool>;
};

/// The step of products of numbers.
struct number_products {
    static constexpr bool scales = false;
    static constexpr index_t per_step = 1;
    template <class V>
    FOVEA_INLINE V operator()(V const& sum, V const& a, V const& b) const {
        return fma(a, b, sum);
    }
};

/// The steps of a sum over so many elements.
template <class Step>
constexpr index_t steps_over(index_t elements) {
    if constexpr (step_of_products<Step>) return ceil_div(elements, Step::per_step);
    else return elements;
}

/// A stride that is a constant.
template <index_t Stride>
using constant_stride = std::integral_constant<index_t, Stride>;
using unit_stride = constant_stride<1>;

/// Elements that are broadcast: that of row r at step i is first[r * row_stride + i * step_stride].
template <class T, class RowStride, class StepStride>
struct broadcast_operand {
    T const* first;
    FOVEA_NO_UNIQUE_ADDRESS RowStride row_stride;
    FOVEA_NO_UNIQUE_ADDRESS StepStride step_stride;

    FOVEA_INLINE T operator()(index_t r, index_t i) const { return first[r * row_stride + i * step_stride]; }
    FOVEA_INLINE broadcast_operand from_row(index_t r) const {
        return {first + r * row_stride, row_stride, step_stride};
    }
    FOVEA_INLINE broadcast_operand from_step(index_t i) const {
        return {first + i * step_stride, row_stride, step_stride};
    }
};

/// A row of vectors for each step.
template <class Element>
struct vector_operand {
    Element const* first;  // (steps, NV * lanes)
    index_t step_stride;

    FOVEA_INLINE Element const* row(index_t i) const { return first + i * step_stride; }
    FOVEA_INLINE void advance(index_t steps = 1) { first += steps * step_stride; }
};

/// Sums: MR rows of NV vectors, all in registers.
///
/// Loops over them are expansions of one parameter pack each: compilers keep nothing else in registers, and an inlined
/// function for each vector would take most of the compile time.
template <int MR, int NV, class T, class Arch>
class register_tile {
public:
    using vector = pack<T, Arch>;

    FOVEA_INLINE register_tile() {
        [&]<int... I>(indices<I...>) FOVEA_LAMBDA { ((sum_[I] = vector(T{0})), ...); }(all{});
    }

    /// sum[r][v] = add(sum[r][v], a[r], b[v]) at each step; before(b) comes first. `b` is a vector_operand, or rows in
    /// place.
    template <class Add, class Broadcast, class Vectors, class Before>
    FOVEA_INLINE void add_products(Add const& add, Broadcast const& a, Vectors b, index_t steps, Before const& before) {
        for (index_t i = 0; i < steps; ++i, b.advance()) {
            before(b);
            auto const from = b.row(0);
            c_array<vector, NV> row;
            load_features<NV, T, Arch>(b, from, 0, row);
            [&]<int... I>(indices<I...>)
                FOVEA_LAMBDA { ((sum_[I] = add(sum_[I], vector(a(I / NV, i)), row[I % NV])), ...); }(all{});
        }
    }
    /// The same, with a line of `next`, if any is left, before every few steps.
    template <class Add, class Broadcast, class Vectors>
    FOVEA_INLINE void add_products_and_prefetch(Add const& add, Broadcast a, Vectors b, index_t steps,
                                                prefetch_queue& next) {
        for (;;) {
            next.prefetch_line<Arch>();
            index_t const count = std::min(steps, next.steps_per_line());
            add_products(add, a, b, count, [](Vectors const&) FOVEA_LAMBDA {});
            steps -= count;
            if (steps <= 0) return;
            a = a.from_step(count);
            b.advance(count);
        }
    }

    /// sum[r][v] = sum[r][v] * scale[r]
    FOVEA_INLINE void scale_rows(T const* scale) {
        [&]<int... I>(indices<I...>) FOVEA_LAMBDA { ((sum_[I] = sum_[I] * vector(scale[I / NV])), ...); }(all{});
    }

    /// sum[r][v] = from[r][v] * scale[r]
    FOVEA_INLINE void load_scaled_by_row(T const* from, index_t stride, T const* scale) {
        [&]<int... I>(indices<I...>)
            FOVEA_LAMBDA { ((sum_[I] = vector(scale[I / NV]) * vector::load(place<I>(from, stride))), ...); }(all{});
    }

    /// sum[r][v] += from[r][v] * scale[r]: added last, the earlier sum is rounded once and not at each step.
    FOVEA_INLINE void add_scaled_by_row(T const* from, index_t stride, T const* scale) {
        [&]<int... I>(indices<I...>) FOVEA_LAMBDA {
            ((sum_[I] = fma(vector(scale[I / NV]), vector::load(place<I>(from, stride)), sum_[I])), ...);
        }(all{});
    }

    /// sum[r][v] += from[r][v] * scale[v]
    FOVEA_INLINE void add_scaled_by_lane(T const* from, index_t stride, T const* scale) {
        [&]<int... I>(indices<I...>) FOVEA_LAMBDA {
            ((sum_[I] = fma(vector::load(place<I>(from, stride)), vector::load(scale + I % NV * lanes), sum_[I])), ...);
        }(all{});
    }

    FOVEA_INLINE void store(T* to, index_t stride) const {
        [&]<int... I>(indices<I...>) FOVEA_LAMBDA { (sum_[I].store(place<I>(to, stride)), ...); }(all{});
    }

    /// to[v] = max(to[v], sum[r][v]) over all rows; a NaN is left out.
    FOVEA_INLINE void store_max(T* to) const {
        c_array<vector, NV> maximum;
        [&]<int... V>(indices<V...>) FOVEA_LAMBDA {
            ((maximum[V] = vector::load(to + V * lanes)), ...);
            [&]<int... I>(indices<I...>)
                FOVEA_LAMBDA { ((maximum[I % NV] = max(maximum[I % NV], sum_[I])), ...); }(all{});
            (maximum[V].store(to + V * lanes), ...);
        }(std::make_integer_sequence<int, NV>{});
    }

private:
    template <int... I>
    using indices = std::integer_sequence<int, I...>;
    using all = std::make_integer_sequence<int, MR * NV>;
    static constexpr index_t lanes = vector::lanes;

    template <int I, class Element>
    FOVEA_INLINE static Element* place(Element* tile, index_t stride) {
        return tile + I / NV * stride + I % NV * lanes;
    }

    c_array<vector, MR * NV> sum_;  // (MR, NV)
};

}  // namespace fovea::FOVEA_SET::kernel
