// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/index.hpp>

#include "support/memory.hpp"

namespace fuzz {

using fovea::extents_t;

/// The sizes of a call that is right before views are spoilt.
struct sizes {
    index_t batches, heads, key_heads, queries, keys, features, value_features;

    explicit sizes(bytes& in) {
        auto const kind = in.byte();
        batches = kind % 8 == 7 ? in.between(0, 3) : 1;
        key_heads = in.between(1, 2);
        heads = key_heads * in.between(1, 3);
        queries = in.between(1, 5);
        keys = in.between(1, 9);
        features = in.between(1, 5);
        value_features = in.between(1, 5);
        if (kind % 16 == 1) queries = in.between(0, 20);
        if (kind % 16 == 2) keys = in.between(0, 40);
        if (kind % 16 == 3) features = in.between(0, 20);
        if (kind % 16 == 4) value_features = in.between(0, 20);
        if (kind % 16 == 5) key_heads = heads = in.between(0, 4);
        if (kind == 6) batches = key_heads = heads = index_t{1} << (8 + in.below(24)), queries = 0;
    }
};

/// The reasons why operands and a result of these extents must be refused.
void judge_operands(memory& all, extents_t<4> const& q, extents_t<4> const& k, extents_t<4> const& v,
                    extents_t<4> const& result);

/// Whether a call of these extents does more than a fuzzer waits for; without queries, heads or batches there is
/// nothing to do, however many of the others there are.
bool is_long(extents_t<4> const& q, extents_t<4> const& k, extents_t<4> const& v);

// One group of specifications each.
void dense(bytes& in);
void tables(bytes& in);
void coordinates(bytes& in);
void states(bytes& in);
void merges(bytes& in);
void formats(bytes& in);
void graphs(bytes& in);
void pages(bytes& in);
void sequences(bytes& in);

}  // namespace fuzz
