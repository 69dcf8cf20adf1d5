// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>

namespace fovea::FOVEA_SET {

/// heads<Query, KeyValue>: how many heads a projection is cut into.
///
/// Query heads in groups of Query / KeyValue share a key/value head: head h reads h / (Query / KeyValue).
/// heads<8> is multi-head, heads<32, 8> grouped-query, heads<32, 1> multi-query attention. Head h takes the features
/// h * d ... of a projected row, d being its features over its heads.
/// Errors: at compile time, where Query is no multiple of KeyValue; shape_error where the features are no multiple.
template <int Query, int KeyValue = Query>
struct heads_t {
    static_assert(Query > 0 && KeyValue > 0, "fovea: an attention has at least one head");
    static_assert(KeyValue <= 0 || Query % (KeyValue > 0 ? KeyValue : 1) == 0,
                  "fovea: the query heads cannot share the key/value heads: their number is not a multiple");
    static constexpr int query = Query;
    static constexpr int key_value = KeyValue;
    static constexpr int group = KeyValue > 0 ? Query / KeyValue : 1;
};

template <int Query, int KeyValue = Query>
inline constexpr auto heads = heads_t<Query, KeyValue>{};

template <class T>
inline constexpr bool is_heads = false;
template <int Query, int KeyValue>
inline constexpr bool is_heads<heads_t<Query, KeyValue>> = true;

}  // namespace fovea::FOVEA_SET
