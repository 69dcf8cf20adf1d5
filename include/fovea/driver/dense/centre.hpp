// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What squared distances are computed about: a point amid the queries of heads that share keys.
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/kernel/packing.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::driver {

/// How features of queries and keys are moved and scaled before a product makes a squared distance of them.
template <class T>
struct centre {
    T* place;   // (features), amid the queries
    T* factor;  // (features), the root of the weight: NaN of one below 0
};

/// The mean of the query factor of a squared distance over a few queries of some heads, 0 where it is not finite, and
/// the weights: the same for all tiles of these heads and all blocks of their keys. Memory is (3, features).
template <class Call, class Pair, class T = typename Call::number>
centre<T> centre_of_queries(context_of<Call, key_lanes_of<Call>> const& context, head_group heads, Pair const& pair,
                            T* memory) {
    using Arch = typename Call::architecture;
    auto const [first, features] = context.span_of(pair);
    centre<T> const to{memory, memory + features};
    T* const row = to.factor + features;
    index_t const count = std::min<index_t>(context.rows, 8);
    std::fill_n(to.place, features, T{0});
    for (index_t i = 0; i < count; ++i) {
        auto const facts = context.facts(heads, i * context.rows / count);
        auto const* const query = context.operands.query.place(facts.batch, facts.head, facts.q_idx, 0) + first;
        kernel::index_environment<T, Arch, index_t> const base{facts, 0};
        auto const store = [&](auto const& body, T scale, T* at) {
            kernel::scatter_features<T, Arch>(body, base, query, features, scale, at, 1);
        };
        plan::for_each_part(pair.factors.queries,
                            [&](auto const& body) { store(body, T{1} / static_cast<T>(count), row); });
        for (index_t f = 0; f < features; ++f) to.place[f] += row[f];
        if (i == 0) store(plan::weight_of_square(pair.factors.body), T{1}, to.factor);
    }
    for (index_t f = 0; f < features; ++f) {
        if (!std::isfinite(to.place[f])) to.place[f] = 0;
        to.factor[f] = std::sqrt(to.factor[f]);
    }
    return to;
}

}  // namespace fovea::FOVEA_SET::driver
