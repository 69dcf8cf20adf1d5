// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of one call, drawn: numbers, sizes, layouts, pages, offsets, tables.
#pragma once

#include "catalogue/drawn_tables.hpp"

namespace catalogue {

/// The types of a call, as far as the compiler must know them.
struct call_types {
    stored query, key, value, result;
    bool paged = false, ragged = false;
};

/// Conditions of a specification on the sizes of its calls; 0 leaves a number free.
struct limits {
    index_t heads = 0, key_heads = 0;          // made by a projection
    index_t features = 0, value_features = 0;  // of the operands
    index_t least_features = 0;                // and values
    index_t most_queries = 0, most_keys = 0;
    double greatest = 3;      // element of queries and keys
    bool square = false;      // as many keys as queries
    bool lists_keys = false;  // over the edges of a graph
};

/// The extents of the operands of a call and of its result: (batch, head, position, feature).
struct operand_extents {
    fovea::extents_t<4> query, key, value, result;
};

/// One sequence of a call: a batch element, or one of those that lie one after another.
struct drawn_sequence {
    index_t batch, first_query, queries, first_key, keys;
};

/// Which pages hold the positions of each batch element.
struct drawn_pages {
    index_t slots = 1, per_sequence = 0;
    std::unique_ptr<guarded<std::int32_t>> table;  // (batch, page)

    std::int32_t& entry(index_t batch, index_t n) const { return (*table)[batch * per_sequence + n]; }
};

/// How a specification is called: its limits, extents and tables.
struct call_shape {
    limits of_sizes;
    operand_extents (*extents)(drawn_sizes const&);
    drawn_tables (*draw_tables)(fovea::testing::dice&, drawn_sizes const&);
};

/// drawn_call: the operands of one call, drawn: numbers, sizes, layouts, pages, offsets, tables.
struct drawn_call {
    call_types types;
    drawn_sizes n;
    operand_extents extents;
    std::unique_ptr<drawn_rows> query, key, value;  // keys and values are pages where the call is paged
    drawn_pages key_pages, value_pages;
    std::unique_ptr<guarded<index_t>> query_offsets, key_offsets;
    std::vector<drawn_sequence> sequences;
    drawn_tables tables;

    drawn_call(fovea::testing::dice& from, call_types const& types, call_shape const& shape, drawn_sizes const& sizes);

    /// The batch element of the operands and results that holds a sequence.
    index_t batch_of(drawn_sequence const& s) const { return types.ragged ? 0 : s.batch; }
    /// The head of an operand, or of the result, that has a share in an attention head.
    index_t head_in(fovea::extents_t<4> const& operand, index_t head) const {
        return head * operand[1] / std::max<index_t>(n.heads(), 1);
    }

    /// The memory of a key or a value; heads are those of the operand.
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
drawn_sizes draw_sizes(fovea::testing::dice& from, index_t features, index_t value_features, bool ragged,
                       limits const& of_sizes);

/// One batch element of a view, or all.
template <class T>
fovea::view<T, 4> batch_of(fovea::view<T, 4> v, index_t batch) {
    if (batch < 0) return v;
    v.data += batch * v.stride(0);
    v.extents[0] = 1;
    return v;
}

}  // namespace catalogue
