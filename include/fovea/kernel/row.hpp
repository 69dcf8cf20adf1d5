// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of scores in memory as a normalizer sees them, one row with a key in each lane or many rows with one in each
// lane, and weights changed by an expression after the normalizer.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/simd/math.hpp>
#include <fovea/simd/unrolled.hpp>
#include <fovea/spec/row.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace fovea::FOVEA_SET::kernel {

/// The kth key of a row is the key at first + k.
struct consecutive_keys {
    index_t first = 0;
    FOVEA_INLINE index_t operator()(index_t k) const { return first + k; }
};

/// The kth key of a row is the kth in a list.
struct listed_keys {
    std::int32_t const* list = nullptr;
    FOVEA_INLINE index_t operator()(index_t k) const { return list[k]; }
};

/// One row of scores in memory, as a normalizer sees it: whole packs, excluded scores after the last key.
template <class T, class Arch, class Normalize, class Keys = consecutive_keys>
struct packed_row {
    using value_type = T;
    using vector = pack<T, Arch>;
    using lane_operations = lanes_of<T, Arch>;
    static constexpr index_t width = vector::lanes;

    T* scores;
    index_t packs;  // number of packs
    Keys keys{};
    std::int32_t const* places = nullptr;  // of these scores in the row of these keys, where some were kept of it

    index_t size() const { return packs * width; }
    T& operator[](index_t i) const { return scores[i]; }
    index_t key(index_t i) const { return keys(places == nullptr ? i : places[i]); }

    FOVEA_INLINE T max() const { return lane_operations::max(lane_max()); }
    FOVEA_INLINE bool any_above(T limit) const { return (lane_max() > vector(limit)).any(); }

    /// Ties go to the lowest key, whatever its place in the row.
    FOVEA_INLINE located<T> first_max() const {
        T const row_max = max();
        located<T> best;
        if (row_max == excluded<T>) return best;
        for (index_t p = 0; p < packs; ++p) {
            if (!(vector::load(scores + p * width) == vector(row_max)).any()) continue;
            for (index_t i = p * width; i < (p + 1) * width; ++i)
                if (scores[i] == row_max && (best.key < 0 || key(i) < best.key)) best = {row_max, key(i)};
        }
        return best;
    }

    template <class F>
    FOVEA_INLINE void map(F f) const {
        T* const from = scores;
        for (index_t p = 0; p < packs; ++p) weight(f, from + p * width);
    }

    template <class F>
    FOVEA_INLINE T map_and_sum(F f) const {
        return lane_operations::sum(weigh_and_sum<Normalize, T, Arch>(f, scores, packs, width));
    }

    FOVEA_INLINE void rescale(T factor) const {
        T* const from = scores;
        for (index_t p = 0; p < packs; ++p) (vector::load(from + p * width) * vector(factor)).store(from + p * width);
    }

    template <class F>
    FOVEA_INLINE T sum(F f) const {
        return lane_operations::sum(
            sum_of_packs<in_sequence, vector>(packs, [&](index_t first, index_t n) FOVEA_LAMBDA {
                vector total(T{0});
                for (index_t p = first; p < first + n; ++p) {
                    auto const score = vector::load(scores + p * width);
                    total = total + select(score == vector(excluded<T>), vector(T{0}), vector(f(score)));
                }
                return total;
            }));
    }

    template <class F>
    FOVEA_INLINE auto sums(F f) const {
        constexpr std::size_t count = std::tuple_size_v<decltype(f(vector(T{0})))>;
        cascade_sum<vector> all[count];
        for (index_t first = 0; first < packs; first += in_sequence) {
            vector total[count];
            for (auto& t : total) t = vector(T{0});
            for (index_t p = first; p < std::min(first + in_sequence, packs); ++p) {
                auto const score = vector::load(scores + p * width);
                auto const excluded_lanes = score == vector(excluded<T>);
                auto const terms = f(score);
                for (std::size_t n = 0; n < count; ++n)
                    total[n] = total[n] + select(excluded_lanes, vector(T{0}), terms[n]);
            }
            for (std::size_t n = 0; n < count; ++n) all[n].add(total[n]);
        }
        std::array<T, count> result;
        for (std::size_t n = 0; n < count; ++n) result[n] = lane_operations::sum(all[n].total(vector(T{0})));
        return result;
    }

    packed_row at_least(T limit, row_scratch<T>& scratch) const {
        static_assert(row_scratch<T>::size % width == 0);
        index_t count = 0;
        for (index_t p = 0; p < packs; ++p) {
            count +=
                lane_operations::compress_not_less(limit, vector::load(scores + p * width), scratch.scores + count);
            if (count > scratch.size) return *this;
        }
        index_t const filled = ceil_div(count, width);
        while (count < filled * width) scratch.scores[count++] = excluded<T>;
        return {scratch.scores, filled, {}};
    }

    FOVEA_INLINE packed_row exclude_below(T limit) const {
        T* const at = scores;
        for (index_t p = 0; p < packs; ++p) {
            auto const score = vector::load(at + p * width);
            select(score < vector(limit), vector(excluded<T>), score).store(at + p * width);
        }
        return *this;
    }

    packed_row keep_from(T limit, kept_scratch<T>& scratch) const {
        limit = std::max(limit, std::numeric_limits<T>::lowest());  // excluded scores do not stay
        index_t count = 0;
        for (index_t p = 0; p < packs; ++p) {
            T const* const from = scores + p * width;
            index_t const kept = lane_operations::compress_not_less(limit, vector::load(from), scratch.scores + count);
            if (kept == 0) continue;
            if (count + kept > scratch.size) return exclude_below(limit);
            for (index_t i = 0, next = count; i < width; ++i) {  // no branch depends on a score
                scratch.from[next] = static_cast<std::int32_t>(p * width + i);
                next += !(from[i] < limit);
            }
            count += kept;
        }
        scratch.count = count;
        index_t const filled = ceil_div(count, width);
        for (; count < filled * width; ++count) {
            scratch.scores[count] = excluded<T>;
            scratch.from[count] = scratch.from[0];
        }
        if (places == nullptr) return {scratch.scores, filled, keys, scratch.from};
        for (index_t i = 0; i < count; ++i) scratch.places[i] = places[scratch.from[i]];
        return {scratch.scores, filled, keys, scratch.places};
    }

    void put_back(packed_row const& few, kept_scratch<T> const& scratch) const {
        if (few.scores == scores) return;
        for (index_t p = 0; p < packs; ++p) vector(T{0}).store(scores + p * width);
        for (index_t i = 0; i < scratch.count; ++i) scores[scratch.from[i]] = few.scores[i];
    }

    template <class F>
    FOVEA_INLINE T max_of(F f) const {
        using std::max;  // hides the member
        vector maximum(excluded<T>);
        for (index_t p = 0; p < packs; ++p) {
            auto const score = vector::load(scores + p * width);
            maximum = max(maximum, select(score == vector(excluded<T>), score, vector(f(score))));
        }
        return lane_operations::max(maximum);
    }

    /// The kth largest of the maxima of parts of the row, which are the lanes, or the lanes of every fourth pack: at
    /// least k scores reach it, since each part has keys of its own.
    T reached_by(index_t k) const {
        using std::max;  // hides the member
        if (k < 1 || k > chains * width) return excluded<T>;
        c_array<vector, chains> maxima;
        maxima_of_packs<T, Arch>(scores, packs, width, maxima);
        index_t const parts = k <= width ? 1 : chains;
        if (parts == 1) maxima[0] = max(max(maxima[0], maxima[1]), max(maxima[2], maxima[3]));
        T reached = -excluded<T>;
        for (index_t i = 0; i < parts; ++i) {
            vector larger(T{0});  // how many maxima are larger than that of the lane
            for (index_t j = 0; j < parts; ++j)
                for (T const maximum : lane_operations::to_array(maxima[j]))
                    larger = larger + select(maxima[i] < vector(maximum), vector(T{1}), vector(T{0}));
            reached = std::min(reached, -lane_operations::max(select(larger < vector(static_cast<T>(k)), -maxima[i],
                                                                     vector(excluded<T>))));
        }
        return reached;
    }

    /// f is not computed for packs in which no score reaches the limit.
    template <class F>
    FOVEA_INLINE void map_from(T limit, F f) const {
        T* const at = scores;
        vector const none(T{0});
        for (index_t p = 0; p < packs; ++p) {
            auto const score = vector::load(at + p * width);
            auto const stays_out = score < vector(limit) || score == vector(excluded<T>);
            if ((!stays_out).any()) select(stays_out, none, vector(f(score))).store(at + p * width);
            else none.store(at + p * width);
        }
    }

private:
    static constexpr index_t in_sequence = packs_in_sequence / chains;  // packs in the one chain of a sum here

    /// The maximum of each lane over all packs.
    FOVEA_INLINE vector lane_max() const { return max_of_packs<T, Arch>(scores, packs, width); }
    template <class F>
    FOVEA_INLINE vector weight(F const& f, T* at) const {
        return weigh_pack<Normalize, T, Arch>(f, at);
    }
};

/// Rows whose vectors are `stride` elements apart; where a vector holds several elements of each row, these are
/// `period` lanes apart. One number for each row, such as its maximum, is a vector here, equal in all lanes of a row.
template <class T, class Arch, class Normalize>
struct lane_rows {
    using vector = pack<T, Arch>;
    using value_type = vector;
    static constexpr index_t width = vector::lanes;

    T* scores;
    index_t packs;               // vectors that hold these rows
    index_t stride;              // elements from one to the next
    index_t period;              // lanes, a power of two
    T const* row_max = nullptr;  // the maximum of each lane over all packs, where it is known

    FOVEA_INLINE vector max() const {
        using std::max;  // hides the member
        return over_row(lane_max(), [](vector const& a, vector const& b) FOVEA_LAMBDA { return max(a, b); });
    }
    FOVEA_INLINE bool any_above(vector const& limit) const { return (lane_max() > limit).any(); }

    template <class F>
    FOVEA_INLINE void map(F f) const {
        for (index_t p = 0; p < packs; ++p) weight(f, scores + p * stride);
    }
    template <class F>
    FOVEA_INLINE vector map_and_sum(F f) const {
        return over_row(weigh_and_sum<Normalize, T, Arch>(f, scores, packs, stride),
                        [](vector const& a, vector const& b) FOVEA_LAMBDA { return a + b; });
    }
    FOVEA_INLINE void rescale(vector const& factor) const {
        for (index_t p = 0; p < packs; ++p) (vector::load(scores + p * stride) * factor).store(scores + p * stride);
    }
    FOVEA_INLINE lane_rows exclude_below(vector const& limit) const {
        for (index_t p = 0; p < packs; ++p) {
            auto const score = vector::load(scores + p * stride);
            select(score < limit, vector(excluded<T>), score).store(scores + p * stride);
        }
        return {scores, packs, stride, period};
    }

private:
    FOVEA_INLINE vector lane_max() const {
        return row_max != nullptr ? vector::load(row_max) : max_of_packs<T, Arch>(scores, packs, stride);
    }
    /// Reduces the lanes of each row, in the same order for all rows.
    template <class F>
    FOVEA_INLINE vector over_row(vector all, F f) const {
        return over_groups<T, Arch>(all, period, f);
    }
    template <class F>
    FOVEA_INLINE vector weight(F const& f, T* at) const {
        return weigh_pack<Normalize, T, Arch>(f, at);
    }
};

/// The keys of one vector of a row, from its column on.
template <class T, class Arch>
FOVEA_INLINE positions<T, Arch> lane_keys(consecutive_keys const& keys, index_t column) {
    return {keys.first + column};
}
template <class T, class Arch>
FOVEA_INLINE index_pack<T, Arch> lane_keys(listed_keys const& keys, index_t column) {
    using lanes = index_pack<T, Arch>;
    if constexpr (std::is_same_v<integer_like<T>, std::int32_t>) {
        return lanes::load(keys.list + column);
    } else {
        alignas(64) typename lanes::array_type wide;
        std::copy_n(keys.list + column, wide.size(), wide.begin());
        return lanes::load(wide.data());
    }
}

/// One vector of final weights and the indices of its pairs.
template <class T, class Arch, class Keys>
struct weight_environment : index_environment<T, Arch, Keys> {
    pack<T, Arch> weight;

    using index_environment<T, Arch, Keys>::operator();
    FOVEA_INLINE auto operator()(weight_t) const { return weight; }
};

namespace detail {
template <bool Scales, bool Exact, class T, class Arch, class Expression, class Normalize, class Keys>
FOVEA_INLINE void reweigh_row(Expression const& expression, row_coordinates const& coordinates,
                              packed_row<T, Arch, Normalize, Keys> const& row) {
    using vector = pack<T, Arch>;
    for (index_t column = 0; column < row.size(); column += vector::lanes) {
        auto const keys = lane_keys<T, Arch>(row.keys, column);
        T* const at = row.scores + column;
        weight_environment<T, Arch, std::remove_const_t<decltype(keys)>> const here{{coordinates, keys, column},
                                                                                    vector::load(at)};
        auto weight = as_pack<T, Arch>(evaluate_in_lanes<T, Arch, Exact>(expression, here));
        if constexpr (Scales) weight = select(here.weight == vector(T{0}), here.weight, weight);
        weight.store(at);
    }
}
}  // namespace detail

/// reweigh: every weight of a row becomes an expression of itself and its indices. `Scales`: the expression multiplies
/// the weight by a factor, and weights of 0 stay 0 whatever the factor of an excluded pair is, NaN too.
template <bool Scales, class T, class Arch, class Expression, class Normalize, class Keys>
void reweigh(Expression const& expression, row_coordinates const& coordinates,
             packed_row<T, Arch, Normalize, Keys> const& row) {
    if constexpr (asks_for_exact<T, Expression>)
        if (coordinates.exact) return detail::reweigh_row<Scales, true>(expression, coordinates, row);
    detail::reweigh_row<Scales, false>(expression, coordinates, row);
}

}  // namespace fovea::FOVEA_SET::kernel
