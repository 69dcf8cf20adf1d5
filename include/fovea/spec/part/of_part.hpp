// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification for some queries and some keys of a sequence: its indices are those of the whole sequence.
#pragma once

#include <fovea/spec/part/rewritten.hpp>
#include <fovea/spec/recurrence.hpp>

namespace fovea::FOVEA_SET {

/// Where some adjacent queries and some adjacent keys of a sequence begin, and how many of each the sequence has.
struct part_place {
    index_t first_query = 0, first_key = 0;
    index_t queries = 0, keys = 0;
};

/// Adjacent positions of a sequence, and where the first of them lies in an array that holds some of its positions.
struct position_run {
    index_t first = 0, count = 0;
    index_t place = 0;
};

namespace detail {
/// Some rows of a sequence: the first of them, and how many the sequence has.
struct rows_from_first {
    index_t first, all;
    constexpr head_place operator()(head_place at) const {
        at.position += first;
        return at;
    }
    constexpr extents_t<4> operator()(extents_t<4> rows) const {
        rows[2] = all;
        return rows;
    }
};

/// Rows that lie at the positions of a list, of a sequence.
struct rows_listed {
    index_t const* positions;
    index_t all;
    constexpr head_place operator()(head_place at) const {
        at.position = positions[at.position];
        return at;
    }
    constexpr extents_t<4> operator()(extents_t<4> rows) const {
        rows[2] = all;
        return rows;
    }
};

/// A rewriting of the maps of heads alone: expressions stay as they are.
struct of_maps_alone {
    template <class E>
    static constexpr bool changes = false;
    template <class E>
    constexpr E operator()(E const& e) const {
        return e;
    }
    template <class E>
    constexpr E rows(E const& e) const {
        return e;
    }
};

/// The maps of heads have the positions of a list.
struct mapped_at : of_maps_alone {
    rows_listed of_queries, of_keys;

    constexpr rows_listed queries() const { return of_queries; }
    constexpr rows_listed keys() const { return of_keys; }
};

/// q_idx and kv_idx are counted from the first query and key of the sequence, q_len and kv_len are its lengths.
struct counted_from_first {
    part_place at;

    template <class E>
    static constexpr bool changes = uses<E, q_idx_t, kv_idx_t, q_len_t, kv_len_t>;
    template <class E>
    constexpr auto operator()(E const& e) const {
        using namespace placeholders;
        if constexpr (uses<E, q_idx_t>) return without_queries(substitute(e, q_idx, q_idx + at.first_query));
        else return without_queries(e);
    }
    template <class E>
    constexpr auto rows(E const& e) const {
        return (*this)(e);
    }
    constexpr rows_from_first queries() const { return {at.first_query, at.queries}; }
    constexpr rows_from_first keys() const { return {at.first_key, at.keys}; }

private:
    template <class E>
    constexpr auto without_queries(E const& e) const {
        using namespace placeholders;
        if constexpr (uses<E, kv_idx_t>) return without_lengths(substitute(e, kv_idx, kv_idx + at.first_key));
        else return without_lengths(e);
    }
    template <class E>
    constexpr auto without_lengths(E const& e) const {
        using namespace placeholders;
        return substitute(substitute(e, q_len, literal<index_t>{at.queries}), kv_len, literal<index_t>{at.keys});
    }
};
}  // namespace detail

/// of_part: what a specification of a sequence is for some of its queries and keys, which a call numbers from 0.
template <attention_spec A>
constexpr auto of_part(A const& a, part_place const& at) {
    return rewritten(a, detail::counted_from_first{at}, [](auto const& aggregate) { return aggregate; });
}

namespace detail {
/// An aggregate with the steps first ... first + count - 1 of `all`.
template <class Aggregate>
Aggregate at_steps(Aggregate aggregate, index_t first, index_t count, index_t all) {
    if constexpr (recurrent_aggregator<Aggregate>) {
        if constexpr (Aggregate::gated) aggregate.gate.decay = aggregate.gate.decay.part(first, count, all, "gated");
        if constexpr (Aggregate::corrected)
            aggregate.correction.rate = aggregate.correction.rate.part(first, count, all, "delta");
    }
    return aggregate;
}

/// The order of steps is the same from whatever position they are counted.
struct counted_in_steps : counted_from_first {
    template <class E>
    static constexpr bool changes = counted_from_first::changes<E> && !is_causal_predicate<E>;
};
}  // namespace detail

/// of_steps: what a specification with a running state is for some adjacent queries and keys, which a call numbers from
/// 0. Tables for each step have those of `steps` positions, of which the keys are `run.count` from `run.place` on.
template <attention_spec A>
constexpr auto of_steps(A const& a, part_place const& at, position_run const& run, index_t steps) {
    return rewritten(a, detail::counted_in_steps{{at}},
                     [&](auto const& aggregate) { return detail::at_steps(aggregate, run.place, run.count, steps); });
}

}  // namespace fovea::FOVEA_SET
