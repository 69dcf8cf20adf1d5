// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What both passes of a gradient over listed keys share: the memory of one share, numbers of heads in lanes,
// prefetching.
#pragma once

#include <fovea/driver/graph/backward/gradient_pairs.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// What the pass over the queries leaves to the pass over the keys: numbers of all heads, (number, head lanes), at one
/// place for each query, or for each edge.
template <class T>
struct kept_numbers {
    T* first;
    index_t size;  // of one place
    FOVEA_INLINE T* at(index_t place) const { return first + place * size; }
};

/// The base of both passes, whose vectors hold all heads of one edge, then those of the next.
template <class Call>
class listed_pass {
protected:
    using T = typename Call::number;
    using Arch = typename Call::architecture;
    using Spec = typename Call::spec;
    using Operands = typename Call::operands;
    using places = typename Call::places;
    using vector = kernel::pack<T, Arch>;
    using groups = kernel::lane_groups_of<T, Arch>;
    static constexpr index_t width = vector::lanes;
    static constexpr index_t rows_ahead = 3;  // positions between prefetching their own rows and using them

    /// `bytes` are gathered for each edge, from one of `positions`.
    listed_pass(Spec const& spec, Operands const& x, index_t bytes, index_t positions)
        : specification(spec), operands(x), layout(spec, x), prefetches(prefetches_positions(bytes, positions)) {}

    /// The memory of one share.
    struct room {
        index_t pairs, period;
        T* weights;    // (pairs)
        T* gradients;  // (pairs) of weights, then of scores
        T* parts;      // (parts, pairs): their values, then their gradients
        T* terms;      // (terms of one side, period) of one position
        T* sums;       // (terms of one side, period)
        index_t* edges;

        room(kernel::head_lanes const& lanes, arena& memory, index_t longest)
            : pairs(round_up(lanes.pairs(longest), width) + width), period(lanes.common_period(width)) {
            weights = memory.template take<T>(pairs);
            gradients = memory.template take<T>(pairs);
            parts = memory.template take<T>(places::all * pairs);
            terms = memory.template take<T>((places::rows + places::keys) * period);
            sums = memory.template take<T>((places::rows + places::keys + 1) * period);
            edges = memory.template take<index_t>(longest + width);
            std::fill_n(weights, pairs, T{0});
            std::fill_n(gradients, pairs, T{0});
            std::fill_n(parts, places::all * pairs, T{0});
        }
    };
    /// The most positions that one of [first, last) is listed with.
    template <class Listed>
    static index_t longest(Listed const& listed, index_t first, index_t last) {
        index_t most = 1;
        for (index_t i = first; i < last; ++i) most = std::max(most, std::ssize(listed(i)));
        return most;
    }

    FOVEA_INLINE static void prefetch(kept_numbers<T> const& kept, index_t place) {
        T const* const numbers = kept.at(place);
        for (index_t c = 0; c < kept.size; c += line) __builtin_prefetch(numbers + c);
    }
    /// Calls f(edge) for the edges whose memory is prefetched beside a vector of pairs, of `edges` in all.
    template <class F>
    FOVEA_INLINE void for_edges_ahead(index_t pair, index_t n, index_t first_edge, index_t edges, F const& f) const {
        auto const& lanes = layout.lanes;
        if (!prefetches || lanes.head(pair) != 0) return;
        index_t const from = first_edge + edges_ahead, last = std::min(lanes.key(pair + width - 1) + 1, n);
        for (index_t e = from + lanes.key(pair), end = std::min(from + last, edges); e < end; ++e) f(e);
    }

    /// The terms of one side of a position, repeated for all lanes.
    FOVEA_INLINE void repeat(T const* terms, index_t stride, index_t count, index_t position, room const& here) const {
        index_t const heads = layout.lanes.padded_heads;
        for (index_t t = 0; t < count; ++t)
            for (index_t l = 0; l < here.period; l += width)
                groups::repeated(terms + t * stride + position * heads + l, heads)
                    .store(here.terms + t * here.period + l);
    }
    /// A vector of them.
    FOVEA_INLINE void take_terms(vector* parts, index_t count, room const& here, index_t pair) const {
        for (index_t t = 0; t < count; ++t)
            parts[t] = vector::load(here.terms + t * here.period + (pair & (here.period - 1)));
    }

    FOVEA_INLINE void add_up(room const& here, vector const* amounts, index_t terms, index_t pair) const {
        for (index_t t = 0; t < terms; ++t) {
            T* const sum = here.sums + t * here.period + (pair & (here.period - 1));
            (vector::load(sum) + amounts[t]).store(sum);
        }
    }
    /// The sums of terms, (term, head lanes) one after the other.
    void join_lanes(room const& here, index_t terms) const {
        index_t const heads = layout.lanes.padded_heads;
        for (index_t t = 0; t < terms; ++t)
            for (index_t l = 0; l < here.period; l += width)
                kernel::store_as<T, Arch>(
                    kernel::sum_over_groups<T, Arch>(vector::load(here.sums + t * here.period + l), heads),
                    here.sums + t * heads + l, std::min(heads, width));
    }

    /// The rows of one position, for each head of the queries, which are set to zero where they are touched first.
    FOVEA_INLINE row_targets<T> targets(view<T, 4> const& rows, index_t b, index_t position, key_head_of head_of,
                                        bool begin) const {
        if (rows.data == nullptr) return {nullptr, 0, head_of};
        T* const first = rows.place(b, index_t{0}, position, index_t{0});
        index_t const features = rows.extent(3), joined = rows.stride(1) == features ? rows.extent(1) : 1;
        for (index_t h = 0; begin && h < rows.extent(1); h += joined)
            std::fill_n(first + h * rows.stride(1), joined * features, T{0});
        return {first, rows.stride(1), head_of};
    }

    Spec const& specification;
    Operands const& operands;
    listed_layout<Call> const layout;
    bool const prefetches;  // rows are short, and too many for the caches

private:
    static constexpr index_t line = cache_line / index_t{sizeof(T)};
};

}  // namespace fovea::FOVEA_SET::driver
