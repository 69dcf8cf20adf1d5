// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What squared distances are computed about: a point amid the queries of heads that share keys.
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/kernel/packing.hpp>

#include <algorithm>
#include <cmath>

namespace fovea::FOVEA_SET::driver {

/// The mean of the query factor of a squared distance over a few queries of some heads, the same for all of their
/// tiles and blocks of keys; 0 where it is not finite. `to` has room for two rows: (2, features).
template <class Call, class Pair, class T = typename Call::number>
void centre_of_queries(context_of<Call, key_lanes_of<Call>> const& context, head_group heads, Pair const& pair, T* to) {
    using Arch = typename Call::architecture;
    auto const [first, features] = context.span_of(pair);
    index_t const count = std::min<index_t>(context.rows, 8);
    T* const row = to + features;
    std::fill_n(to, features, T{0});
    for (index_t i = 0; i < count; ++i) {
        auto const facts = context.facts(heads, i * context.rows / count);
        kernel::index_environment<T, Arch, index_t> const base{facts, 0};
        plan::for_each_part(pair.factors.queries, [&](auto const& body) {
            kernel::scatter_features<T, Arch>(
                body, base, context.operands.query.place(facts.batch, facts.head, facts.q_idx, 0) + first, features,
                T{1} / static_cast<T>(count), row, 1);
        });
        for (index_t f = 0; f < features; ++f) to[f] += row[f];
    }
    for (index_t f = 0; f < features; ++f)
        if (!std::isfinite(to[f])) to[f] = 0;
}

}  // namespace fovea::FOVEA_SET::driver
