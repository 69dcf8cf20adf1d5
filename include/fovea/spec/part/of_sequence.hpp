// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A specification for one sequence of many: `batch` is the number of the sequence, tables for each step are cut.
#pragma once

#include <fovea/spec/part/of_steps.hpp>
#include <fovea/spec/part/rewritten.hpp>
#include <fovea/spec/sequence_place.hpp>

namespace fovea::FOVEA_SET {

namespace detail {
/// Rows of one sequence, whose maps know all sequences.
struct rows_numbered {
    index_t number, sequences;
    constexpr head_place operator()(head_place at) const {
        at.batch = number;
        return at;
    }
    constexpr extents_t<4> operator()(extents_t<4> rows) const {
        rows[0] = sequences;
        return rows;
    }
};

/// `batch` is the number of the sequence.
struct numbered {
    index_t number, sequences, first_query;

    template <class E>
    static constexpr bool changes = uses<E, batch_t>;
    template <class E>
    constexpr auto operator()(E const& e) const {
        if constexpr (changes<E>) return substitute(e, placeholders::batch, literal<index_t>{number});
        else return e;
    }
    /// The rows of all sequences lie one after another in one batch element.
    template <class E>
    constexpr auto rows(E const& e) const {
        using namespace placeholders;
        return substitute(substitute(e, batch, literal<index_t>{0}), q_idx, q_idx + first_query);
    }
    constexpr rows_numbered queries() const { return {number, sequences}; }
    constexpr rows_numbered keys() const { return {number, sequences}; }
};
}  // namespace detail

/// of_sequence: what a specification for a ragged batch is for one of its sequences.
template <attention_spec A>
constexpr auto of_sequence(A const& a, sequence_place const& at) {
    return rewritten(a, detail::numbered{at.number, at.sequences, at.first_query}, [&](auto const& aggregate) {
        return detail::at_steps(aggregate, at.first_key, at.keys, at.all_keys);
    });
}

}  // namespace fovea::FOVEA_SET
