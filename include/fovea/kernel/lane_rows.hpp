// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many rows of scores at once, one in each lane: what a normalizer reads with queries, or the heads of one query, in
// lanes.
#pragma once

#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/score_packs.hpp>
#include <fovea/spec/row.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// Rows whose vectors are `stride` elements apart; where a vector holds several elements of each row, these are
/// `period` lanes apart. One number for each row, such as its maximum, is a vector here, equal in all lanes of a row.
/// Weights are made beside other work where there is some.
template <class T, class Arch, class Normalize, class Steps = no_steps>
struct lane_rows {
    using vector = pack<T, Arch>;
    using value_type = vector;
    static constexpr index_t width = vector::lanes;

    T* scores;
    index_t packs;               // vectors that hold these rows
    index_t stride;              // elements from one to the next
    index_t period;              // lanes, a power of two
    T const* row_max = nullptr;  // the maximum of each lane over all packs, where it is known
    Steps* beside = nullptr;

    FOVEA_INLINE vector max() const {
        using std::max;  // hides the member
        return over_row(lane_max(), [](vector const& a, vector const& b) FOVEA_LAMBDA { return max(a, b); });
    }
    FOVEA_INLINE bool any_above(vector const& limit) const { return (lane_max() > limit).any(); }

    template <class F>
    FOVEA_INLINE void map(F f) const {
        between_steps(beside, packs, [&](index_t p, index_t last) FOVEA_LAMBDA {
            for (; p < last; ++p) weight(f, scores + p * stride);
        });
    }
    template <class F>
    FOVEA_INLINE vector map_and_sum(F f) const {
        return over_row(weigh_and_sum<Normalize, T, Arch>(f, scores, packs, stride, beside),
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
        return {scores, packs, stride, period, nullptr, beside};
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

}  // namespace fovea::FOVEA_SET::kernel
