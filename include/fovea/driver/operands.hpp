// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/view.hpp>

namespace fovea::driver {

/// The views of one attention, all (batch, head, position, feature); lse and weights have no data unless asked for.
template <class Q, class K, class V, class Out>
struct operands {
    view<Q const, 4> query;
    view<K const, 4> key;
    view<V const, 4> value;
    view<Out, 4> result;
    view<Out, 3> lse{};      // (batch, head, query)
    view<Out, 4> weights{};  // (batch, head, query, key)

    index_t batches() const { return query.extent(0); }
    index_t key_heads() const { return key.extent(1); }
    index_t group() const { return query.extent(1) / key.extent(1); }
    index_t queries() const { return query.extent(2); }
    index_t keys() const { return key.extent(2); }
    index_t features() const { return query.extent(3); }        // of the query
    index_t key_features() const { return key.extent(3); }
    index_t value_features() const { return value.extent(3); }
    index_t rows() const { return queries() * group(); }        // rows that share one key/value head
};

/// The type that is computed in: double where any operand is double, float otherwise.
template <class... Elements>
using compute_type = std::conditional_t<(std::is_same_v<std::remove_const_t<Elements>, double> || ...), double, float>;

/// The parts of a specification that the loops read.
template <class Score, class Predicate, class Normalize, class Aggregate>
struct recipe {
    Score score;          // lowered
    Predicate predicate;
    Normalize normalize;
    Aggregate aggregate;
};

template <class Score, class Predicate, class Normalize, class Aggregate>
recipe(Score, Predicate, Normalize, Aggregate) -> recipe<Score, Predicate, Normalize, Aggregate>;

}  // namespace fovea::driver
