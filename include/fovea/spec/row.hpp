// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A row of scores as normalizers see it, by elements or in vectors.
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/ieee.hpp>
#include <fovea/core/index.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <utility>

namespace fovea::FOVEA_SET {

/// cascade_sum: a sum of numbers, or vectors, that are added two by two as in a tournament: what is rounded off grows
/// with the logarithm of their number. Source: Higham 2002, section 4.1.
template <class V>
class cascade_sum {
public:
    FOVEA_INLINE void add(V term) {
        index_t level = 0;
        for (; (count_ >> level & 1) != 0; ++level) term = sums_[level] + term;
        sums_[level] = term;
        ++count_;
    }
    /// Of no numbers: zero.
    FOVEA_INLINE V total(V const& zero) const {
        V sum = zero;
        for (index_t level = 0; count_ >> level != 0; ++level)
            if ((count_ >> level & 1) != 0) sum = sums_[level] + sum;
        return sum;
    }

private:
    static constexpr index_t levels = 48;  // of any number of terms that memory holds
    index_t count_ = 0;
    V sums_[levels];  // of 2^level terms, where count has that bit
};

/// in_vectors: a row whose functions are given vectors of scores, weights and gradients, where there are some: f takes
/// numbers and vectors alike.
template <class Row>
decltype(auto) in_vectors(Row&& row) {
    if constexpr (requires { row.vectors(); }) return row.vectors();
    else return std::forward<Row>(row);
}

/// The score of a pair that does not take part.
template <class T>
inline constexpr T excluded = -ieee::infinity<T>;

/// The numbers that a value consists of: itself, or those of its lanes.
template <class T>
struct numbers_of {
    using type = T;
};
template <class T>
    requires requires { typename T::value_type; }
struct numbers_of<T> {
    using type = typename T::value_type;
};
template <class T>
using number_of = typename numbers_of<T>::type;

/// Whether a comparison holds, in any lane if it has lanes.
constexpr bool any_lane(bool comparison) { return comparison; }
template <class Mask>
    requires requires(Mask const& m) { m.any(); }
constexpr bool any_lane(Mask const& comparison) {
    return comparison.any();
}

/// Where a normalizer may keep the few scores of a row that matter to it; a whole number of vectors of any width.
template <class T>
struct row_scratch {
    static constexpr index_t size = 256;
    alignas(64) T scores[size + 16];  // a vector may be written after the last score
};

/// Where the scores go that stay, with where they stood in their row, and in the one that this was taken of.
template <class T>
struct kept_scratch : row_scratch<T> {
    std::int32_t from[row_scratch<T>::size + 16];
    std::int32_t places[row_scratch<T>::size + 16];
    index_t count = 0;
};

/// A row of scores as a normalizer sees it: the reference gives it numbers, the fused loop batches.
///
///     row.max()              the greatest score that is a number; excluded when no pair takes part
///     row.any_above(s)       whether a score is greater than s: cheaper than asking for the greatest
///     row.first_max()        that score and the position of the first key that has it
///     row.map(f)             each score s becomes the weight f(s), of an excluded pair 0
///     row.map_and_sum(f)     the same, and the sum of the new weights
///     row.sum(f)             the sum of f(s) over the scores, which stay; excluded ones add nothing
///     row.sums(f)            several sums in one pass: f gives an array
///     row.max_of(f)          the greatest f(s) of the scores, which stay; excluded when no pair takes part
///     row.at_least(s, scratch)  the scores that are not less than s, as a row without keys; the row itself where
///                            they may be more than the scratch holds
///     row.reached_by(k)      a score that at least k keys reach, near the kth greatest; excluded where none is known
///     row.map_from(s, f)     the scores that are not less than s become weights by f, all others 0
///     row.exclude_below(s)   the row, in which scores that are less than s are excluded from now on
///     row.keep_from(s, scratch)  those scores as a row of their own that knows their keys;
///                            row.exclude_below(s) where they may be more than the scratch holds
///     row.put_back(few, scratch)  the weights of `few`, which keep_from gave, where the scores stood, and 0 elsewhere
///     row.rescale(x)         every weight times x
///     row.size(), row[i]     single scores, for algorithms over whole rows; row.key(i) their keys
///
/// f is generic: it takes a number or a batch of them. at_least, reached_by and map_from serve normalizers that leave
/// most keys without weight; exclude_below, keep_from and put_back serve `keep`. Others need not know them.
///
/// A streaming normalizer with `takes_lanes` may be given many rows at once, a row in each lane: then value_type is a
/// vector, and the row has max, any_above (of any row), map, map_and_sum, rescale and exclude_below.
template <class R>
concept score_row =
    requires(R row, index_t i, row_scratch<typename R::value_type> scratch, kept_scratch<typename R::value_type> kept) {
        typename R::value_type;
        { row.max() } -> std::convertible_to<typename R::value_type>;
        { row.size() } -> std::convertible_to<index_t>;
        { row.key(i) } -> std::convertible_to<index_t>;
        { row.any_above(typename R::value_type{}) } -> std::convertible_to<bool>;
        row[i];
        row.rescale(typename R::value_type{});
        row.first_max();
        row.map([](auto s) { return s; });
        row.map_and_sum([](auto s) { return s; });
        row.sum([](auto s) { return s; });
        row.sums([](auto s) { return std::array<decltype(s), 2>{s, s}; });
        row.max_of([](auto s) { return s; });
        { row.at_least(typename R::value_type{}, scratch) } -> std::same_as<R>;
        { row.reached_by(i) } -> std::convertible_to<typename R::value_type>;
        row.map_from(typename R::value_type{}, [](auto s) { return s; });
        { row.exclude_below(typename R::value_type{}) } -> std::same_as<R>;
        { row.keep_from(typename R::value_type{}, kept) } -> std::same_as<R>;
        row.put_back(row, kept);
    };

/// A score and the position of the key that has it.
template <class T>
struct located {
    T value = excluded<T>;
    index_t key = -1;
};

/// row_archetype: the least that a score_row offers; concepts are checked against it.
template <class T>
struct row_archetype {
    using value_type = T;
    T* scores = nullptr;
    T max() const { return T{}; }
    bool any_above(T) const { return false; }
    located<T> first_max() const { return {}; }
    void map(auto f) const { static_cast<void>(f(T{})); }
    T map_and_sum(auto f) const { return static_cast<T>(f(T{})); }
    void rescale(T) const {}
    T sum(auto f) const { return static_cast<T>(f(T{})); }
    auto sums(auto f) const { return f(T{}); }
    row_archetype at_least(T, row_scratch<T>&) const { return *this; }
    T max_of(auto f) const { return static_cast<T>(f(T{})); }
    T reached_by(index_t) const { return T{}; }
    void map_from(T, auto f) const { static_cast<void>(f(T{})); }
    row_archetype exclude_below(T) const { return *this; }
    row_archetype keep_from(T, kept_scratch<T>&) const { return *this; }
    void put_back(row_archetype const&, kept_scratch<T> const&) const {}
    index_t size() const { return 0; }
    T& operator[](index_t i) const { return scores[i]; }
    index_t key(index_t i) const { return i; }
};

}  // namespace fovea::FOVEA_SET
