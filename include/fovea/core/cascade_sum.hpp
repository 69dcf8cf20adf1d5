// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/config.hpp>
#include <fovea/core/index.hpp>

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

}  // namespace fovea::FOVEA_SET
