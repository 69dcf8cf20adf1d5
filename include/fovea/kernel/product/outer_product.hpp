// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The microkernel of dense products: a sum of outer products, a column of broadcast elements by a row of vectors, in
// registers. Loops of their own have keys in place (`kernel/product/contract_rows.hpp`), whose lanes hold features, and
// bfloat16 (`kernel/product/bf16_product.hpp`).
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/kernel/prefetch.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/simd/simd.hpp>
#include <fovea/simd/unrolled.hpp>

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET::kernel {

/// Rows at equal distances.
template <class Element>
struct even_rows {
    Element const* first;
    index_t stride;
    index_t ahead = 0;  // elements to what is prefetched beside a row; 0: nothing is

    FOVEA_INLINE Element const* row(index_t i) const { return first + i * stride; }
    FOVEA_INLINE void advance(index_t rows = 1) { first += rows * stride; }
    /// The rows from one of them on, each from a feature on.
    even_rows from(index_t i, index_t feature) const { return {row(i) + feature, stride, ahead}; }

    /// The row that is read some time after row i, and how far that is from it.
    FOVEA_INLINE Element const* after(index_t i) const { return row(i) + ahead; }
    FOVEA_INLINE index_t distance(index_t) const { return ahead; }
};
template <class Element>
even_rows(Element const*, index_t) -> even_rows<Element>;

/// Rows anywhere, each at its address; the addresses of `ahead` more rows follow.
template <class Element>
struct rows_by_address {
    Element const* const* at;
    index_t feature = 0;
    index_t ahead = 0;  // rows to the one that is prefetched beside a row; 0: none is

    FOVEA_INLINE Element const* row(index_t i) const { return at[i] + feature; }
    FOVEA_INLINE void advance(index_t rows = 1) { at += rows; }
    rows_by_address from(index_t i, index_t further) const { return {at + i, feature + further, ahead}; }

    FOVEA_INLINE Element const* after(index_t i) const { return at[i + ahead] + feature; }
    FOVEA_INLINE index_t distance(index_t i) const { return at[i + ahead] - at[i]; }
};

/// Rows of blocks that are decoded as they are read, from a feature on.
template <class Rows>
struct decoded_rows {
    Rows blocks;
    index_t feature = 0;

    FOVEA_INLINE auto const* row(index_t i) const { return blocks.row(i); }
    FOVEA_INLINE void advance(index_t rows = 1) { blocks.advance(rows); }
    decoded_rows from(index_t i, index_t further) const { return {blocks.from(i, 0), feature + further}; }
    FOVEA_INLINE auto const* after(index_t i) const { return blocks.after(i); }
    FOVEA_INLINE index_t distance(index_t i) const { return blocks.distance(i); }
};

/// Some features of a row as a pack: `row` is what rows.row(i) gave, `left` features of it are left.
template <class T, class Arch, class Rows, class Element>
FOVEA_INLINE pack<T, Arch> features_of(Rows const&, Element const* row, index_t offset, index_t left) {
    return load_as<T, Arch>(row + offset, left);
}
template <class T, class Arch, class Rows, class Block>
FOVEA_INLINE pack<T, Arch> features_of(decoded_rows<Rows> const& rows, Block const* row, index_t offset, index_t left) {
    using blocks = block_storage<Block, T, Arch>;
    if constexpr (requires { blocks::load(row, offset, left); }) return blocks::load(row, rows.feature + offset, left);
    else return blocks::load(row, rows.feature + offset);
}

/// The packs that are loaded at once from such rows: those of a block, else one.
template <class T, class Arch, class Rows>
inline constexpr int packs_at_once = 1;
template <class T, class Arch, class Rows>
    requires requires { Rows::blocks; }
inline constexpr int packs_at_once<T, Arch, Rows> = [] {
    using block = std::remove_cvref_t<decltype(*std::declval<Rows const&>().row(0))>;
    if constexpr (loads_whole_blocks<block, T, Arch>) return block_storage<block, T, Arch>::packs;
    else return 1;
}();

/// The `Packs` packs of a row from a feature on, which is a multiple of theirs.
template <int Packs, class T, class Arch, class Rows, class Element>
FOVEA_INLINE void load_features(Rows const& rows, Element const* row, index_t feature,
                                c_array<pack<T, Arch>, Packs>& to) {
    constexpr int at_once = packs_at_once<T, Arch, Rows>;
    if constexpr (at_once > 1 && Packs % at_once == 0) {
        auto const* const block = row + static_cast<std::size_t>(rows.feature + feature) / Element::size;
        unrolled<Packs / at_once>(
            [&](auto b) FOVEA_LAMBDA { block_storage<Element, T, Arch>::load_all(block[b], &to[b * at_once]); });
        unrolled<Packs>([&](auto p) FOVEA_LAMBDA { to[p] = opaque(to[p]); });
    } else {
        constexpr index_t lanes = pack<T, Arch>::lanes;
        [&]<int... P>(std::integer_sequence<int, P...>) FOVEA_LAMBDA {
            ((to[P] = opaque(features_of<T, Arch>(rows, row, feature + P * lanes, lanes))), ...);
        }(std::make_integer_sequence<int, Packs>{});
    }
}
/// The bytes of so many features of such rows.
template <class Rows>
constexpr index_t bytes_of_features(index_t features) {
    return features * static_cast<index_t>(sizeof(*std::declval<Rows const&>().row(0)));
}
template <class Rows>
    requires requires { Rows::blocks; }
constexpr index_t bytes_of_features(index_t features) {
    using block = std::remove_cvref_t<decltype(*std::declval<Rows const&>().row(0))>;
    return ceil_div(features, block::size) * static_cast<index_t>(sizeof(block));
}

/// Prefetches `Count` features from one on of the row that is `distance` elements after a row.
template <index_t Count, class Rows, class Element>
FOVEA_INLINE void prefetch_features(Rows const&, Element const* row, index_t feature, index_t distance) {
    prefetch_to_l2<Count>(row + feature + distance);
}
template <index_t Count, class Rows, class Block>
FOVEA_INLINE void prefetch_features(decoded_rows<Rows> const& rows, Block const* row, index_t feature,
                                    index_t distance) {
    prefetch_to_l2<ceil_div(Count, Block::size)>(row + (rows.feature + feature) / Block::size + distance);
}

/// The type of the elements of such rows.
template <class Rows>
using element_in_place = std::remove_cvref_t<decltype(*std::declval<Rows const&>().row(0))>;

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
    [[no_unique_address]] RowStride row_stride;
    [[no_unique_address]] StepStride step_stride;

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
            auto const* const from = b.row(0);
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
                FOVEA_LAMBDA { ((maximum[I % NV] = max(sum_[I], maximum[I % NV])), ...); }(all{});
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
