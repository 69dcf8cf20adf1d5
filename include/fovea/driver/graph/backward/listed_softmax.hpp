// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rule of softmax on the keys of one query, all of its heads at once, and what it leaves for the pass over the
// keys.
#pragma once

#include <fovea/core/graph.hpp>
#include <fovea/driver/graph/backward/gradient_layout.hpp>

#include <algorithm>
#include <bit>

namespace fovea::FOVEA_SET::driver {

/// As listed_rule, of softmax: three numbers of a row give its weights and their gradients again,
///
///     l w = exp(s - m),   l ds = exp(s - m) ((dO / l) . v - D / l),   D = sum_k w (dO . v_k)
///
/// A pair of weight 0 has no gradient, whatever its value holds.
template <class Call>
class listed_softmax {
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using vector = kernel::pack<T, Arch>;
    static constexpr index_t width = vector::lanes;

public:
    static constexpr index_t facts = 2;  // of a row, for the pass over the keys: m and D / l

    listed_softmax(typename Call::spec const&, kernel::head_lanes const& lanes, arena& memory, index_t)
        : lanes_(lanes),
          most_(memory.template take<T>(lanes.common_period(width))),
          mean_(memory.template take<T>(lanes.common_period(width))),
          reciprocal_(memory.template take<T>(lanes.common_period(width) + width)) {
        std::fill_n(reciprocal_, lanes.common_period(width) + width, T{0});
    }

    void apply(kernel::row_facts const& row, graph_view const& graph, index_t const*, T* weights, T* gradients,
               typename Call::tables const&) const {
        index_t const last = lanes_.pairs(std::ssize(graph.of(row.q_idx))), period = lanes_.common_period(width);
        auto const larger = [](auto const& a, auto const& b) FOVEA_LAMBDA { return max(a, b); };
        auto const sum_of = [&](vector const& x)
                                FOVEA_LAMBDA { return kernel::sum_over_groups<T, Arch>(x, lanes_.padded_heads); };
        for (index_t l = 0; l < period; l += width) {
            vector most(excluded<T>), sum(T{0}), mean(T{0});
            for (index_t p = l; p < last; p += period) most = max(most, vector::load(weights + p));
            most = kernel::over_groups<T, Arch>(most, lanes_.padded_heads, larger);
            most = select(most == vector(excluded<T>), vector(T{0}), most);
            for (index_t p = l; p < last; p += period) {
                auto const score = vector::load(weights + p);
                auto const weight = select(score == vector(excluded<T>), vector(T{0}), exp(score - most));
                weight.store(weights + p);
                sum = sum + weight;
                mean = mean + weighted(weight, vector::load(gradients + p));
            }
            sum = sum_of(sum);
            auto const reciprocal = select(sum == vector(T{0}), vector(T{0}), vector(T{1}) / sum);
            mean = sum_of(mean) * reciprocal;
            for (index_t p = l; p < last; p += period)
                weighted(vector::load(weights + p) * reciprocal, vector::load(gradients + p) - mean)
                    .store(gradients + p);
            most.store(most_ + l);
            reciprocal.store(reciprocal_ + l);
            (mean * reciprocal).store(mean_ + l);
        }
    }

    /// Keeps the facts of the last row, (fact, head lanes), and dO / l, (head, column).
    template <class D>
    void keep(view<D const, 4> const& d_result, kernel::row_facts const& row, T* to, T* scaled) const {
        index_t const heads = lanes_.padded_heads, columns = d_result.extent(3);
        for (index_t l = 0; l < heads; l += width) {
            kernel::store_as<T, Arch>(vector::load(most_ + l), to + l, heads - l);
            kernel::store_as<T, Arch>(vector::load(mean_ + l), to + heads + l, heads - l);
        }
        if (kernel::joins_columns<T, Arch>(columns, d_result.stride(1), lanes_)) {
            int const shift = std::countr_zero(static_cast<unsigned>(columns));
            D const* const from = d_result.place(row.batch, index_t{0}, row.q_idx, index_t{0});
            for (index_t c = 0; c < lanes_.heads * columns; c += width) {
                auto const reciprocal = kernel::lane_groups_of<T, Arch>::permuted(
                    vector::load(reciprocal_ + (c >> shift)), kernel::lanes_shifted<T, Arch>(shift));
                (kernel::storage<D, T, Arch>::load(from + c) * reciprocal).store(scaled + c);
            }
            return;
        }
        for (index_t h = 0; h < lanes_.heads; ++h) {
            D const* const from = d_result.place(row.batch, h, row.q_idx, index_t{0});
            for (index_t c = 0; c < columns; c += width)
                kernel::store_as<T, Arch>(kernel::load_as<T, Arch>(from + c, columns - c) * vector(reciprocal_[h]),
                                          scaled + h * columns + c, columns - c);
        }
    }

private:
    FOVEA_INLINE static vector weighted(vector const& weight, vector const& x) {
        return select(weight == vector(T{0}), vector(T{0}), weight * x);
    }

    kernel::head_lanes const& lanes_;
    T *most_, *mean_, *reciprocal_;  // (period) m, D / l and 1 / l
};

}  // namespace fovea::FOVEA_SET::driver
