// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One row of a gradient in memory as the rule of a normalizer sees it: scores, weights and gradients side by side.
#pragma once

#include <fovea/kernel/score_packs.hpp>
#include <fovea/spec/row_gradient.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The scores of a row that take part, their weights, and the gradients of these, which become those of the scores.
/// A rule computes with numbers; sums have as many parts as a vector has lanes, so that a compiler can make vectors of
/// them.
template <class T, class Arch>
struct row_gradient {
    using value_type = T;
    using vector = pack<T, Arch>;
    static constexpr index_t width = vector::lanes;

    T const *scores, *weights;
    T* gradients;
    index_t count;

    index_t size() const { return count; }

    template <class F>
    T sum(F const& f) const {
        index_t const packs = count / width;
        T all = lanes_of<T, Arch>::sum(sum_of_packs<packs_in_sequence, vector>(packs, [&](index_t first, index_t n) {
            alignas(64) T total[std::size_t{width}] = {};
            for (index_t i = first * width; i < (first + n) * width; i += width)
                for (index_t lane = 0; lane < width; ++lane) total[lane] += at(f, i + lane);
            return vector::load(total);
        }));
        for (index_t i = packs * width; i < count; ++i) all += at(f, i);
        return all;
    }
    template <class F>
    void map(F const& f) const {
        for (index_t i = 0; i < count; ++i) gradients[i] = at(f, i);
    }
    /// The derivative of an elementwise weight at a score.
    template <class N>
    static T slope(N const& n, T score) {
        return fovea::detail::slope_of_weight(n, score);
    }

    /// The same row for what computes with vectors of it.
    struct in_vectors {
        using value_type = T;
        row_gradient const& row;

        index_t size() const { return row.count; }
        template <class F>
        FOVEA_INLINE T sum(F const& f) const {
            return lanes_of<T, Arch>::sum(sum_of_packs<packs_in_sequence, vector>(
                ceil_div(row.count, width), [&](index_t first, index_t n) FOVEA_LAMBDA {
                    vector total(T{0});
                    for (index_t i = first * width; i < std::min((first + n) * width, row.count); i += width)
                        total = total + select(vector::iota() < vector(row.count - i), value(f, i), vector(T{0}));
                    return total;
                }));
        }
        template <class F>
        FOVEA_INLINE void map(F const& f) const {
            for (index_t i = 0; i < row.count; i += width)
                store_as<T, Arch>(value(f, i), row.gradients + i, row.count - i);
        }

    private:
        template <class F>
        FOVEA_INLINE vector value(F const& f, index_t i) const {
            index_t const left = row.count - i;
            return vector(f(load_as<T, Arch>(row.scores + i, left), load_as<T, Arch>(row.weights + i, left),
                            load_as<T, Arch>(row.gradients + i, left)));
        }
    };
    in_vectors vectors() const { return {*this}; }

private:
    template <class F>
    FOVEA_INLINE T at(F const& f, index_t i) const {
        return static_cast<T>(f(scores[i], weights[i], gradients[i]));
    }
};

}  // namespace fovea::FOVEA_SET::kernel
