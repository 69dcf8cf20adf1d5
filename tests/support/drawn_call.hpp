// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "support/drawn_rows.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// What a call is made of, as far as the compiler must know it.
struct call_types {
    stored query, key, value, result;
    bool paged = false, ragged = false;
};

/// The sizes of a call: a row of heads, of which each group shares keys.
struct drawn_sizes {
    fovea::index_t batches = 1, key_heads = 1, group = 1, queries = 1, keys = 1, features = 1, value_features = 1;

    fovea::index_t heads() const { return key_heads * group; }
    fovea::index_t work() const { return batches * heads() * queries * keys * (features + value_features + 16); }
};

/// One sequence of a call: a batch element, or one of those that lie one after another.
struct drawn_sequence {
    fovea::index_t batch, first_query, queries, first_key, keys;
};

/// Which pages hold the positions of each batch element.
struct drawn_pages {
    fovea::index_t slots = 1, per_sequence = 0;
    std::unique_ptr<guarded<std::int32_t>> table;  // (batch, page)

    std::int32_t& entry(fovea::index_t batch, fovea::index_t n) const { return (*table)[batch * per_sequence + n]; }
};

/// drawn_call: the operands of one call, drawn: numbers, sizes, layouts, pages, offsets.
struct drawn_call {
    using index_t = fovea::index_t;

    call_types types;
    drawn_sizes n;
    std::unique_ptr<drawn_rows> query, key, value;  // keys and values are pages where the call is paged
    drawn_pages key_pages, value_pages;
    std::unique_ptr<guarded<index_t>> query_offsets, key_offsets;
    std::vector<drawn_sequence> sequences;

    drawn_call(fovea::testing::dice& from, call_types const& types, drawn_sizes const& sizes);

    /// The memory of a key or a value.
    index_t key_place(index_t b, index_t h, index_t at, index_t c) const { return place(*key, key_pages, b, h, at, c); }
    index_t value_place(index_t b, index_t h, index_t at, index_t c) const {
        return place(*value, value_pages, b, h, at, c);
    }
    std::string text() const;

private:
    index_t place(drawn_rows const& rows, drawn_pages const& pages, index_t b, index_t h, index_t at, index_t c) const {
        if (!types.paged) return rows.place(b, h, at, c);
        return rows.place(std::max<index_t>(pages.entry(b, at / pages.slots), 0), h, at % pages.slots, c);
    }
};

/// Sizes for a number of features and of values: many queries, few, or so few over so many keys that these are shared
/// out among threads; small enough that the definition is soon computed.
drawn_sizes draw_sizes(fovea::testing::dice& from, fovea::index_t features, fovea::index_t value_features, bool ragged);

/// One batch element of a view, or all.
template <class T>
fovea::view<T, 4> batch_of(fovea::view<T, 4> v, fovea::index_t batch) {
    if (batch < 0) return v;
    v.data += batch * v.stride(0);
    v.extents[0] = 1;
    return v;
}
