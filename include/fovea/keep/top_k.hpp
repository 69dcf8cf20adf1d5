// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/integer_argument.hpp>
#include <fovea/spec/selection.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace fovea::FOVEA_SET {

/// top_k: a selection: the k keys with the largest scores of each query.
///
///     keep(top_k(32)) | softmax    keep(top_k(32)) | weigh(sigmoid(score))
///
/// Cost: the maxima of parts of a row rule out most scores, and bisection finds the kth largest of the others.
/// Edge cases: ties go to the lowest positions; scores may be as large as their type allows. With fewer keys than k all
/// of them stay.
/// Errors: std::invalid_argument for k below 1; at compile time, for a real number.
/// Source: Gupta et al. 2021, section 2.
struct top_k_t : key_selection {
    static constexpr bool idempotent = true, keeps_greatest = true;
    index_t k = 1;

    constexpr explicit top_k_t(index_t count) : k(count) {
        detail::require_number("top_k: k", count, "1 or more", [](double n) { return n >= 1; });
    }
    constexpr index_t at_most() const { return k; }
    std::string text() const { return "top_k(" + std::to_string(k) + ")"; }

    // Scores below the kth largest of a few maxima are set aside; among the others the kth largest is bisected.
    template <class Row>
    auto least(Row const& row) const {
        using T = typename Row::value_type;
        row_scratch<T> scratch;
        Row const few = row.at_least(row.reached_by(k), scratch);
        T const greatest = few.max();
        if (greatest == excluded<T>) return greatest;
        auto const [limit, kept] = least_kept(few, greatest);
        if (kept > k) exclude_highest(row, limit, kept - k);
        return limit;
    }

private:
    /// The kth greatest score, the least one where there are fewer, and how many reach it.
    template <class Row, class T>
    std::pair<T, index_t> least_kept(Row const& row, T greatest) const {
        T low = detail::least_of(row);
        if (index_t const all = count_from(row, low); all <= k) return {low, all};
        T limit = greatest;  // above the kth greatest as long as too few are kept; low is below it
        index_t kept = count_from(row, limit);
        while (kept < k) {
            limit = detail::greatest_below(row, limit);
            kept = count_from(row, limit);
            T const middle = low / 2 + limit / 2;
            if (kept >= k || !(middle > low)) continue;
            index_t const reached = count_from(row, middle);
            if (reached > k) {
                low = middle;
            } else {
                limit = middle;
                kept = reached;
            }
        }
        return {limit, kept};
    }
    /// How many scores are not less than one.
    template <class Row, class T>
    static index_t count_from(Row const& row, T score) {
        return static_cast<index_t>(row.sum([score](auto const& s_j) FOVEA_LAMBDA {
            using V = std::remove_cvref_t<decltype(s_j)>;
            return operations::select::apply(operations::less::apply(s_j, score), V(T(0)), V(T(1)));
        }));
    }
    /// Of the keys with a score, the n highest take no part: those above a key that is searched by halves.
    template <class Row, class T>
    static void exclude_highest(Row const& row, T score, index_t n) {
        auto const above = [&](index_t key) {
            index_t count = 0;
            for (index_t i = 0; i < row.size(); ++i) count += row[i] == score && row.key(i) > key;
            return count;
        };
        index_t low = -1, high = -1;  // more than n are above low, no more than n above high
        for (index_t i = 0; i < row.size(); ++i)
            if (row[i] == score && row.key(i) > high) high = row.key(i);
        while (high - low > 1) {
            index_t const middle = low + (high - low) / 2;
            (above(middle) > n ? low : high) = middle;
        }
        index_t listed_again = n - above(high);
        for (index_t i = row.size() - 1; i >= 0; --i)
            if (row[i] == score && (row.key(i) > high || (row.key(i) == high && listed_again-- > 0)))
                row[i] = excluded<T>;
    }
};

constexpr top_k_t top_k(integer_argument k) { return top_k_t(k); }
template <class... Others>
    requires(sizeof...(Others) != 1)
constexpr ill_formed top_k(Others const&...) {
    return detail::refuse_arguments<Others...>();
}

}  // namespace fovea::FOVEA_SET

#include <fovea/core/epilogue.hpp>
