// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights that are a function of their score, and of numbers that are the same for all keys of a row.
#pragma once

#include <fovea/expr/evaluate.hpp>
#include <fovea/expr/features.hpp>
#include <fovea/expr/functions.hpp>
#include <fovea/spec/pipe.hpp>
#include <fovea/spec/row.hpp>

#include <limits>
#include <string>

namespace fovea::FOVEA_SET {

namespace detail {
/// An expression of one score: what `score` stands for is handed in.
template <class V>
struct score_environment {
    V const& value;
    FOVEA_INLINE constexpr V const& operator()(score_t) const { return value; }
};

/// The parts of a function of scores that have one value for each row.
template <class E>
inline constexpr bool is_part_of_row =
    is_number_of_row<E> && !has_sum<E> && !uses<E, weight_t, out_t> && !reads_features<E>
    && (reads_a_table<E> || uses<E, batch_t, head_t, q_idx_t, q_len_t, kv_len_t, dim_t>);

template <class E>
inline constexpr bool has_part_of_row = is_part_of_row<E>;
template <class Operation, class... Children>
inline constexpr bool has_part_of_row<node<Operation, Children...>> =
    is_part_of_row<node<Operation, Children...>> || (has_part_of_row<Children> || ...);

/// Whether all else is made of scores and numbers.
template <class E>
inline constexpr bool is_made_of_scores = is_part_of_row<E> || is_literal<E> || std::is_same_v<E, score_t>;
template <class Operation, class... Children>
inline constexpr bool is_made_of_scores<node<Operation, Children...>> =
    is_part_of_row<node<Operation, Children...>>
    || (!std::is_same_v<Operation, operations::sum> && (is_made_of_scores<Children> && ...));
template <class T, int Rank, class... Indices>
inline constexpr bool is_made_of_scores<node<at_operation, parameter<T, Rank>, Indices...>> =
    is_part_of_row<node<at_operation, parameter<T, Rank>, Indices...>>;

/// The number that a part of a function is in one row, of which `at` is told as a real.
template <class E, class T>
constexpr auto literal_in_row(T x) {
    if constexpr (is_condition<E>) {
        return literal<bool>{x != 0};
    } else if constexpr (is_whole_number<E>) {
        constexpr index_t greatest = std::numeric_limits<index_t>::max();
        return literal<index_t>{x < static_cast<T>(greatest) ? static_cast<index_t>(x) : greatest};
    } else {
        return literal<T>{x};
    }
}

/// The function of scores of one row.
template <class E, class Facts>
constexpr auto function_in_row(E const& e, Facts const& at) {
    if constexpr (is_part_of_row<E>) return literal_in_row<E>(at(e));
    else if constexpr (!has_part_of_row<E>) return e;
    else
        return with_children(e, [&](auto const&... children) {
            return make_node<typename E::operation>(function_in_row(children, at)...);
        });
}

/// A normalizer by a function of scores that has numbers of the row in it. Word::with(f) is the word with a function
/// of scores alone.
template <class Word>
struct normalizer_by_row : stage<role::normalizer> {
    Word word{};

    constexpr normalizer_by_row() = default;
    constexpr explicit normalizer_by_row(Word const& w) : word(w) {}
    template <class Facts>
    constexpr auto for_row(Facts const& at) const {
        return word.with(function_in_row(word.body, at));
    }
    /// The gradients of a row, and those of the tables that the function reads.
    template <class Row, class Facts>
    void gradient(Row&& row, Facts const& at) const {
        for_row(at).gradient_by(in_vectors(row),
                                [&](auto const& s, auto const& amount) { return at.add(word.body, s, amount); });
    }
    std::string text() const { return describe(word); }
};

/// The sentences for the function of such a word.
template <class E>
constexpr bool is_function_of_scores() {
    constexpr bool indexed = !reads_features<E>;
    constexpr bool of_scores = uses<E, score_t> && is_made_of_scores<E>;
    static_assert(indexed, "fovea: a table outside sum() needs an index for each of its axes");
    static_assert(!indexed || of_scores,
                  "fovea: weigh needs an expression of score, which may also use head, batch, q_idx and lengths: what "
                  "depends on the key, put into a rescore before it");
    if constexpr (indexed && of_scores) return keeps_quotients_whole<E, true>();
    else return false;
}

/// The normalizer of a word with such a function, `word.body`: the word itself where no row has numbers of its own.
template <class Word>
constexpr auto by_function_of_scores(Word const& word) {
    using function = std::remove_cvref_t<decltype(word.body)>;
    if constexpr (!is_function_of_scores<function>()) return ill_formed{};
    else if constexpr (has_part_of_row<function>) return normalizer_by_row<Word>(word);
    else return word;
}
}  // namespace detail

}  // namespace fovea::FOVEA_SET
