// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the gradient pass of softmax does to a tile of scores, whichever operand lies in lanes.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/driver/dense/head_rows.hpp>
#include <fovea/kernel/product/nonzero.hpp>
#include <fovea/plan/blocking.hpp>
#include <fovea/spec/exponential.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What the gradient of softmax needs of each row: the maximum m and the sum l of its exponentials, and
/// D = sum_k P dP, which is l D until it is divided.
template <class Shape>
struct row_statistics {
    using T = typename Shape::number;
    alignas(64) T max[Shape::rows], sum[Shape::rows], delta[Shape::rows];

    void begin() {
        std::fill_n(max, Shape::rows, excluded<T>);
        std::fill_n(sum, Shape::rows, T{0});
        std::fill_n(delta, Shape::rows, T{0});
    }
    /// After the last key: a row that saw none keeps zeros.
    void divide() {
        for (index_t r = 0; r < Shape::rows; ++r)
            if (sum[r] != T{0}) delta[r] /= sum[r];
    }
};

/// P and dS of a vector of scores and of gradients of weights; both are 0 for a pair that takes no part.
template <class V>
struct softmax_derivative {
    exponential::power<V> power;
    V reciprocal_of_sum, delta;

    FOVEA_INLINE void operator()(typename V::value_type* scores, typename V::value_type* gradients) const {
        using T = typename V::value_type;
        auto const score = V::load(scores);
        auto const excluded_pair = score == V(excluded<T>);
        auto const weight = select(excluded_pair, V(T{0}), power(score) * reciprocal_of_sum);
        auto const change = weight * (V::load(gradients) - delta);
        weight.store(scores);
        select(excluded_pair, V(T{0}), change).store(gradients);
    }
};

/// The steps of the gradient pass on one tile of an arrangement:
///
///     add_exponentials(s, dot, rows, of)    m, l and l D, by a run of keys
///     differentiate(p, ds, rows, of)        scores become P, the products dO V^T become dS
template <class Shape>
struct gradient_tile;

template <class Shape>
    requires(!Shape::queries_in_lanes)
struct gradient_tile<Shape> {
    using shape = Shape;
    using T = typename Shape::number;
    using Arch = typename Shape::architecture;
    using vector = kernel::pack<T, Arch>;
    using block = score_block<shape>;

    static void add_exponentials(block const& s, block const& dot, tile_rows<shape> const& rows,
                                 row_statistics<shape>& of) {
        index_t const count = s.packs() * shape::lanes;
        for (index_t r = 0; r < rows.count; ++r) {
            T const* const scores = s.scores + r * s.stride;
            T const* const products = dot.scores + r * dot.stride;
            T const before = of.max[r];
            of.max[r] = std::max(before, *std::max_element(scores, scores + count));
            if (of.max[r] == excluded<T>) continue;
            auto const power = exponential::power_below(vector(of.max[r]));
            vector sum(T{0}), delta(T{0});
            for (index_t k = 0; k < count; k += vector::lanes) {
                auto const score = vector::load(scores + k);
                auto const weight = power(score);
                sum = sum + weight;
                delta = delta + select(score == vector(excluded<T>), vector(T{0}), weight * vector::load(products + k));
            }
            T const rescale = exponential::rescaling(before, of.max[r]);
            of.sum[r] = of.sum[r] * rescale + kernel::lanes_of<T, Arch>::sum(sum);
            of.delta[r] = of.delta[r] * rescale + kernel::lanes_of<T, Arch>::sum(delta);
        }
    }

    static void differentiate(block const& p, block const& ds, tile_rows<shape> const& rows,
                              row_statistics<shape> const& of) {
        for (index_t r = 0; r < rows.count; ++r) {
            softmax_derivative<vector> const step{exponential::power_below(vector(of.max[r])), vector(T{1} / of.sum[r]),
                                                  vector(of.delta[r])};
            for (index_t k = 0; k < p.count; k += vector::lanes)
                step(p.scores + r * p.stride + k, ds.scores + r * ds.stride + k);
        }
    }
};

template <class Shape>
    requires(Shape::queries_in_lanes)
struct gradient_tile<Shape> {
    using shape = Shape;
    using T = typename Shape::number;
    using vector = kernel::pack<T, typename Shape::architecture>;
    using block = score_block<shape>;

    static void add_exponentials(block const& s, block const& dot, tile_rows<shape> const&, row_statistics<shape>& of) {
        for_lanes(s, [&](index_t lane, block const& part) {
            auto const before = vector::load(of.max + lane);
            auto const most = max(vector::load(s.row_max + lane), before);
            auto const power = exponential::power_below(most);
            T const* const products = dot.part(part.first - s.first, part.count).scores;
            vector sum(T{0}), delta(T{0});
            for (index_t k = 0; k < part.count; ++k) {
                auto const score = vector::load(part.scores + k * s.stride + lane);
                auto const weight = power(score);
                auto const product = weight * vector::load(products + k * dot.stride + lane);
                sum = sum + weight;
                delta = delta + select(score == vector(excluded<T>), vector(T{0}), product);
            }
            auto const rescale = exponential::rescaling(before, most);
            most.store(of.max + lane);
            fma(vector::load(of.sum + lane), rescale, sum).store(of.sum + lane);
            fma(vector::load(of.delta + lane), rescale, delta).store(of.delta + lane);
        });
    }

    static void differentiate(block const& p, block const& ds, tile_rows<shape> const&,
                              row_statistics<shape> const& of) {
        for_lanes(p, [&](index_t lane, block const& part) {
            softmax_derivative<vector> const step{exponential::power_below(vector::load(of.max + lane)),
                                                  vector(T{1}) / vector::load(of.sum + lane),
                                                  vector::load(of.delta + lane)};
            T* const changes = ds.part(part.first - p.first, part.count).scores;
            for (index_t k = 0; k < part.count; ++k)
                step(part.scores + k * p.stride + lane, changes + k * ds.stride + lane);
        });
    }

    /// Calls f(lane, keys) for each vector of queries, with the keys of a piece that it sees.
    template <class F>
    static void for_lanes(block const& of, F const& f) {
        for (auto const& [vectors, granules] : *of.pieces) {
            auto const part = of.part_of(granules);
            for (index_t v = vectors.first; v < vectors.last; ++v) f(v * shape::lanes, part);
        }
    }
};

}  // namespace fovea::FOVEA_SET::driver
