// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables that a specification reads beside its operands: how they are declared, and drawn for one call.
#pragma once

#include <fovea/core/graph.hpp>

#include "catalogue/drawn_rows.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace catalogue {

using fovea::index_t;

/// The sizes of a call: a row of heads, of which each group shares keys.
struct drawn_sizes {
    index_t batches = 1, key_heads = 1, group = 1, queries = 1, keys = 1, features = 1, value_features = 1, edges = 0;

    index_t heads() const { return key_heads * group; }
    index_t work() const { return batches * heads() * queries * keys * (features + value_features + 16); }
};

// The extents that tables have.
inline fovea::extents_t<1> of_heads(drawn_sizes const& n) { return {n.heads()}; }
inline fovea::extents_t<1> of_batches(drawn_sizes const& n) { return {n.batches}; }
inline fovea::extents_t<1> of_queries(drawn_sizes const& n) { return {n.queries}; }
inline fovea::extents_t<1> of_keys(drawn_sizes const& n) { return {n.keys}; }
inline fovea::extents_t<1> of_positions(drawn_sizes const& n) { return {std::max(n.queries, n.keys)}; }
inline fovea::extents_t<1> of_features(drawn_sizes const& n) { return {n.features}; }
inline fovea::extents_t<1> of_edges(drawn_sizes const& n) { return {n.edges}; }
inline fovea::extents_t<2> of_head_features(drawn_sizes const& n) { return {n.heads(), n.features}; }
inline fovea::extents_t<2> of_key_features(drawn_sizes const& n) { return {n.keys, n.features}; }
inline fovea::extents_t<2> of_edge_features(drawn_sizes const& n) { return {n.edges, n.features}; }
inline fovea::extents_t<2> of_pairs(drawn_sizes const& n) { return {n.queries, n.keys}; }
inline fovea::extents_t<3> of_head_pairs(drawn_sizes const& n) { return {n.heads(), n.queries, n.keys}; }
/// A number for each distance up to a reach, both ways.
template <index_t Reach>
fovea::extents_t<2> of_head_distances(drawn_sizes const& n) {
    return {n.heads(), 2 * Reach + 1};
}
template <index_t Reach>
fovea::extents_t<2> of_distance_features(drawn_sizes const& n) {
    return {2 * Reach + 1, n.features};
}

/// The memory of one table: in C order, right before a page that may not be touched.
struct drawn_table {
    std::vector<index_t> extents;
    std::unique_ptr<guarded<float>> reals{};
    std::unique_ptr<guarded<std::int32_t>> integers{};
    std::unique_ptr<guarded<index_t>> offsets{}, numbers{};  // of a graph, whose keys are the integers

    static index_t elements(std::vector<index_t> const& extents) {
        index_t n = 1;
        for (auto const extent : extents) n *= extent;
        return n;
    }
    template <class T, int Rank>
    fovea::view<T, Rank> over(T* data) const {
        fovea::extents_t<Rank> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = extents[i];
        return {data, all};
    }
};

/// The memory that a call draws its tables into, in the order in which its specification declares them.
using drawn_tables = std::vector<drawn_table>;

/// A table of reals between two numbers; it has a gradient if it is `trained`.
template <int Rank, bool Trained = true>
struct reals {
    fovea::extents_t<Rank> (*extents)(drawn_sizes const&);
    double low = -1, high = 1;

    static constexpr bool trained = Trained;
    static constexpr int rank = Rank;

    drawn_table draw(fovea::testing::dice& from, drawn_sizes const& n) const {
        auto const e = extents(n);
        drawn_table all{{e.begin(), e.end()}};
        all.reals = std::make_unique<guarded<float>>(drawn_table::elements(all.extents));
        for (float& x : *all.reals) x = static_cast<float>(from.real(low, high));
        return all;
    }
    static fovea::view<float const, Rank> view(drawn_table const& t) {
        return t.over<float const, Rank>(t.reals->data());
    }
};
template <int Rank>
using fixed_reals = reals<Rank, false>;

/// A table of integers; `fill` writes them in C order.
template <int Rank>
struct integers {
    fovea::extents_t<Rank> (*extents)(drawn_sizes const&);
    void (*fill)(fovea::testing::dice&, drawn_sizes const&, std::span<std::int32_t>);

    static constexpr bool trained = false;

    drawn_table draw(fovea::testing::dice& from, drawn_sizes const& n) const {
        auto const e = extents(n);
        drawn_table all{{e.begin(), e.end()}};
        all.integers = std::make_unique<guarded<std::int32_t>>(drawn_table::elements(all.extents));
        fill(from, n, {all.integers->data(), static_cast<std::size_t>(all.integers->size())});
        return all;
    }
    static fovea::view<std::int32_t const, Rank> view(drawn_table const& t) {
        return t.over<std::int32_t const, Rank>(t.integers->data());
    }
};

/// The edges of a graph: some of them twice, some queries without a key; numbered as they stand or in another order.
struct edges {
    static constexpr bool trained = false;

    drawn_table draw(fovea::testing::dice& from, drawn_sizes const& n) const {
        drawn_table all{{n.edges}};
        all.integers = std::make_unique<guarded<std::int32_t>>(n.edges);
        all.offsets = std::make_unique<guarded<index_t>>(n.queries + 1);
        std::vector<index_t> ends;
        for (index_t i = 0; i < n.edges; ++i) ends.push_back(from.between(0, n.queries - 1));
        for (index_t i = 0; i < n.edges; ++i) {
            for (index_t q = ends[static_cast<std::size_t>(i)]; q < n.queries; ++q) ++(*all.offsets)[q + 1];
            (*all.integers)[i] = static_cast<std::int32_t>(from.between(0, n.keys - 1));
        }
        for (index_t i = 1; i < n.edges; ++i)
            if (from.chance(0.1)) (*all.integers)[i] = (*all.integers)[i - 1];
        if (from.chance(0.5)) {
            all.numbers = std::make_unique<guarded<index_t>>(n.edges);
            for (index_t i = 0; i < n.edges; ++i) {
                index_t const place = from.between(0, i);
                (*all.numbers)[i] = (*all.numbers)[place];
                (*all.numbers)[place] = i;
            }
        }
        return all;
    }
    static fovea::graph_view view(drawn_table const& t) {
        auto const span = [](auto const& of) { return std::span(of.data(), static_cast<std::size_t>(of.size())); };
        fovea::graph_view g{span(std::as_const(*t.offsets)), span(std::as_const(*t.integers))};
        if (t.numbers) g.numbers = span(std::as_const(*t.numbers));
        return g;
    }
};

}  // namespace catalogue
