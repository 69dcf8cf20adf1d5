// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adding to elements of tables at the indices of a batch of pairs: the counterpart of kernel/lookup.hpp.
#pragma once

#include <fovea/kernel/add_at.hpp>
#include <fovea/kernel/lookup.hpp>

namespace fovea::FOVEA_SET::kernel {

/// How a score adds to the gradients of its tables: Share::for_each_sum(table, f) calls f with the sums of a table, if
/// there are any.
template <class T, class Share>
struct adds_to_tables {
    /// Adds to the element that a table has for these indices: a number, or one for each lane; with one index fewer
    /// than axes to the features from `offset` on, of which `count` are left.
    template <class Element, int Rank, class... Index>
    FOVEA_INLINE void add(view<Element const, Rank> const& table, T amount, Index const&... index) const {
        share().for_each_sum(table, [&](view<T, Rank> const& to) FOVEA_LAMBDA {
            to.data[clamped_offset(to, static_cast<index_t>(index)...)] += amount;
        });
    }
    template <class Element, int Rank, class Arch, class... Index>
    FOVEA_INLINE void add(view<Element const, Rank> const& table, pack<T, Arch> const& amount,
                          Index const&... index) const {
        share().for_each_sum(table,
                             [&](view<T, Rank> const& to) FOVEA_LAMBDA { add_at<T, Arch>(to, amount, index...); });
    }
    template <class Element, int Rank, class Arch, class... Index>
    FOVEA_INLINE void add_features(view<Element const, Rank> const& table, pack<T, Arch> const& amount, index_t offset,
                                   index_t count, Index const&... index) const {
        share().for_each_sum(table, [&](view<T, Rank> const& to) FOVEA_LAMBDA {
            add_to<T, Arch>(to.data + clamped_offset(to, index...) + offset, amount, count);
        });
    }

private:
    FOVEA_INLINE Share const& share() const { return static_cast<Share const&>(*this); }
};

}  // namespace fovea::FOVEA_SET::kernel
