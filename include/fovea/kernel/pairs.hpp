// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs in lanes: all heads of one key, then those of the next; the environments of expressions there.
#pragma once

#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/lane_groups.hpp>

namespace fovea::FOVEA_SET::kernel {

/// The lanes that the heads of one key take, padded to a power of two, so that a lane has the same head in every
/// vector.
struct head_lanes {
    index_t heads;
    index_t padded_heads = 1;  // lanes
    int shift = 0;             // log2(padded_heads)

    constexpr explicit head_lanes(index_t n) : heads(n) {
        for (; padded_heads < n; padded_heads *= 2) ++shift;
    }
    constexpr index_t key(index_t pair) const { return pair >> shift; }
    constexpr index_t head(index_t pair) const { return pair & (padded_heads - 1); }
    constexpr index_t pairs(index_t keys) const { return keys << shift; }
    /// The lanes after which both vectors and heads repeat.
    constexpr index_t common_period(index_t vector_lanes) const { return std::max(padded_heads, vector_lanes); }
};

/// base + offset, one per lane. Comparisons are exact where the base does not fit a lane.
template <class T, class Arch>
struct offset_indices {
    using offsets = index_pack<T, Arch>;
    using mask = lane_mask<T, Arch>;
    index_t base;
    offsets offset;

    FOVEA_INLINE offsets to_integers() const { return offsets(base) + offset; }
    FOVEA_INLINE pack<T, Arch> to_real() const {
        if (!adds_exactly<T>(base)) [[unlikely]]
            return rounded_lanes<T, Arch>(
                [lane = as_array(*this)](index_t i) { return lane[static_cast<std::size_t>(i)]; });
        return pack<T, Arch>(base) + offset.to_real();
    }
    /// Lanes that are below a limit.
    FOVEA_INLINE mask below(index_t limit) const { return offset < offsets(clamped_distance(limit)); }

    /// Lanes that are up to a limit.
    FOVEA_INLINE mask up_to(index_t limit) const { return offset <= offsets(clamped_distance(limit)); }
    /// The distance from the base to a limit, clamped to what a lane holds: all offsets are less than that.
    FOVEA_INLINE index_t clamped_distance(index_t limit) const {
        return std::clamp<index_t>(distance_between(limit, base), -1, std::numeric_limits<std::int32_t>::max());
    }

    FOVEA_INLINE friend offset_indices operator+(offset_indices const& a, std::integral auto b) {
        return {wrapped_plus(a.base, static_cast<index_t>(b)), a.offset};
    }
    FOVEA_INLINE friend offset_indices operator+(std::integral auto b, offset_indices const& a) { return a + b; }
    FOVEA_INLINE friend offset_indices operator-(offset_indices const& a, std::integral auto b) {
        return {wrapped_minus(a.base, static_cast<index_t>(b)), a.offset};
    }
    FOVEA_INLINE friend offsets operator-(std::integral auto b, offset_indices const& a) {
        return offsets(wrapped_minus(static_cast<index_t>(b), a.base)) - a.offset;
    }
    FOVEA_INLINE friend offsets operator-(offset_indices const& a) { return -a.to_integers(); }
    FOVEA_INLINE friend mask operator<(offset_indices const& a, std::integral auto b) {
        return a.below(static_cast<index_t>(b));
    }
    FOVEA_INLINE friend mask operator<=(offset_indices const& a, std::integral auto b) {
        return a.up_to(static_cast<index_t>(b));
    }
    FOVEA_INLINE friend mask operator>(offset_indices const& a, std::integral auto b) { return !(a <= b); }
    FOVEA_INLINE friend mask operator>=(offset_indices const& a, std::integral auto b) { return !(a < b); }
    FOVEA_INLINE friend mask operator<(std::integral auto b, offset_indices const& a) { return a > b; }
    FOVEA_INLINE friend mask operator<=(std::integral auto b, offset_indices const& a) { return a >= b; }
    FOVEA_INLINE friend mask operator>(std::integral auto b, offset_indices const& a) { return a < b; }
    FOVEA_INLINE friend mask operator>=(std::integral auto b, offset_indices const& a) { return a <= b; }
};
template <class T, class Arch>
inline constexpr bool is_positions<offset_indices<T, Arch>> = true;

template <class T, class Arch>
FOVEA_INLINE auto as_array(offset_indices<T, Arch> const& index) {
    std::array<index_t, static_cast<std::size_t>(pack<T, Arch>::lanes)> exact;
    auto const offset = index.offset.array();
    for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = index.base + static_cast<index_t>(offset[i]);
    return exact;
}
template <class T, class Arch>
FOVEA_INLINE auto exact_lanes(offset_indices<T, Arch> const& index) {
    return as_array(index);
}

/// The positions, of keys or of queries, and the heads of the lanes from a pair on; `pair` is a multiple of the lanes
/// of a vector.
template <class T, class Arch>
FOVEA_INLINE offset_indices<T, Arch> positions_of_lanes(head_lanes const& layout, index_t pair) {
    return {layout.key(pair), lanes_shifted<T, Arch>(layout.shift)};
}
template <class T, class Arch>
FOVEA_INLINE offset_indices<T, Arch> heads_of_lanes(head_lanes const& layout, index_t pair) {
    return {layout.head(pair), lanes_masked<T, Arch>(layout.shift)};
}

/// The names whose value is the same number in all lanes.
template <class T, class Arch>
struct uniform_names {
    using arithmetic = call_arithmetic<T, Arch>;
    row_coordinates const& row;

    FOVEA_INLINE index_t operator()(batch_t) const { return row.batch; }
    FOVEA_INLINE index_t operator()(q_len_t) const { return row.q_len; }
    FOVEA_INLINE index_t operator()(kv_len_t) const { return row.kv_len; }
    FOVEA_INLINE index_t operator()(dim_t) const { return row.dim; }
};

/// Pairs of one query with listed keys: what the parts of a lowered score are there.
template <class T, class Arch, int Parts>
struct pair_environment : uniform_names<T, Arch> {
    std::int32_t const* list;
    index_t listed;
    head_lanes const& layout;
    index_t pair;                                // of the first lane
    c_array<pack<T, Arch>, Parts> const& parts;  // products, pairwise terms, key terms
    index_t products;
    index_t pairwise;
    T const* row_terms;  // of the first row term and these heads
    index_t row_term_stride;

    using uniform_names<T, Arch>::row;
    using uniform_names<T, Arch>::operator();
    FOVEA_INLINE index_t operator()(q_idx_t) const { return row.q_idx; }
    FOVEA_INLINE auto operator()(head_t) const { return heads_of_lanes<T, Arch>(layout, pair); }
    FOVEA_INLINE auto operator()(edge_t) const {
        wide_pack<T, Arch> numbers;
        index_t l = pair;
        for (auto& number : numbers.lane) number = row.edges[std::min(layout.key(l++), listed - 1)];
        return numbers;
    }
    FOVEA_INLINE auto operator()(kv_idx_t) const {
        alignas(64) typename index_pack<T, Arch>::array_type keys;
        index_t l = pair;
        for (auto& key : keys) key = list[std::min(layout.key(l++), listed - 1)];
        return index_pack<T, Arch>::load(keys.data());
    }

    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::product, I>) const {
        return parts[I];
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::pairwise, I>) const {
        return parts[products + static_cast<index_t>(I)];
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::row_term, I>) const {
        return pack<T, Arch>::load(row_terms + static_cast<index_t>(I) * row_term_stride);
    }
    template <std::size_t I>
    FOVEA_INLINE auto operator()(plan::reference<plan::part::key_term, I>) const {
        return parts[products + pairwise + static_cast<index_t>(I)];
    }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }
};

using plan::side;

/// Terms of one side: consecutive queries, or keys, and their heads. `sums(body, over)` is the sum over
/// the features of each.
template <side Side, class T, class Arch, class Sums>
struct side_environment : uniform_names<T, Arch> {
    head_lanes const& layout;
    index_t pair;  // of the first lane
    Sums const& sums;

    using uniform_names<T, Arch>::row;
    using uniform_names<T, Arch>::operator();
    FOVEA_INLINE auto operator()(q_idx_t) const {
        if constexpr (Side == side::query) return positions_of_lanes<T, Arch>(layout, pair);
        else return row.q_idx;
    }
    FOVEA_INLINE auto operator()(kv_idx_t) const
        requires(Side == side::key)
    {
        return positions_of_lanes<T, Arch>(layout, pair);
    }
    FOVEA_INLINE auto operator()(head_t) const { return heads_of_lanes<T, Arch>(layout, pair); }

    template <class Element, int Rank, class... Index>
    FOVEA_INLINE auto lookup(view<Element const, Rank> const& table, Index const&... at) const {
        static_assert(sizeof...(Index) == Rank, "fovea: a table outside sum() needs an index for each of its axes");
        return look_up<T, Arch>(table, at...);
    }
    template <class Body, class Over>
    FOVEA_INLINE auto sum(Body const& body, Over const& over) const {
        return sums(body, over);
    }
};

}  // namespace fovea::FOVEA_SET::kernel
