// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of one side, for as many consecutive queries or keys at a time as a vector has lanes.
#pragma once

#include <fovea/kernel/environment.hpp>

namespace fovea::kernel {

enum class side { query, key };

/// The same inside sum(), at one feature.
template <class Side, class T, class Arch>
struct side_feature_environment : Side {
    index_t feature;

    using Side::operator();
    FOVEA_INLINE auto operator()(q_t) const { return value(); }
    FOVEA_INLINE auto operator()(k_t) const { return value(); }
    FOVEA_INLINE auto value() const { return pack<T, Arch>::load(this->features + feature * pack<T, Arch>::lanes); }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        if constexpr (sizeof...(Index) == Rank) return look_up<T, Arch>(table, at...);
        else return look_up<T, Arch>(table, at..., feature);
    }
};

/// Lane by query, or by key: the positions first, first + 1, ... and their features.
template <side Side, class T, class Arch>
struct side_environment {
    using keys = positions<T, Arch>;
    row_facts const& row;
    keys first;
    T const* features;  // (features, lanes)
    index_t count;

    FOVEA_INLINE auto operator()(q_idx_t) const {
        if constexpr (Side == side::query) return first;
        else return row.q_idx;
    }
    FOVEA_INLINE keys operator()(kv_idx_t) const
        requires(Side == side::key)
    {
        return first;
    }
    FOVEA_INLINE index_t operator()(head_t) const { return row.head; }
    FOVEA_INLINE index_t operator()(batch_t) const { return row.batch; }
    FOVEA_INLINE index_t operator()(q_len_t) const { return row.q_len; }
    FOVEA_INLINE index_t operator()(kv_len_t) const { return row.kv_len; }
    FOVEA_INLINE index_t operator()(dim_t) const { return row.dim; }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }

    template <class Body>
    FOVEA_INLINE auto sum(Body const& body) const {
        pack<T, Arch> total(T{0});
        for (index_t f = 0; f < count; ++f)
            total = total + as_pack<T, Arch>(evaluate(body, side_feature_environment<side_environment, T, Arch>{*this, f}));
        return total;
    }
};

/// Rows of features side by side: to[f * lanes + i] = rows[i][f], zeros where there is no row.
template <class T, class Arch, class Element>
void transpose_rows(Element const* rows, index_t stride, index_t count, index_t features, T* to) {
    constexpr index_t lanes = pack<T, Arch>::lanes;
    for (index_t i = 0; i < lanes; ++i)
        for (index_t f = 0; f < features; ++f)
            to[f * lanes + i] = i < count ? static_cast<T>(rows[i * stride + f]) : T{0};
}

}  // namespace fovea::kernel
