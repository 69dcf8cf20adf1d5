// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fovea/core/prologue.hpp>

#include <fovea/core/config.hpp>
#include <fovea/core/view.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace fovea {

/// graph_view: for each query the keys it sees, as compressed sparse rows; owns nothing.
///
/// Edges are numbered as they stand in `keys`, or by `numbers`: those that a table over the edges is read at.
struct graph_view {
    std::span<index_t const> offsets;    // (queries + 1)
    std::span<std::int32_t const> keys;  // (edges)
    std::span<index_t const> numbers{};  // (edges), or empty

    FOVEA_TAGGED constexpr index_t queries() const {
        return offsets.empty() ? 0 : static_cast<index_t>(offsets.size()) - 1;
    }
    FOVEA_TAGGED constexpr index_t edges() const { return static_cast<index_t>(keys.size()); }
    /// The number of the edge at a place of `keys`.
    FOVEA_TAGGED constexpr index_t number(index_t place) const {
        return numbers.empty() ? place : numbers[static_cast<std::size_t>(place)];
    }
    FOVEA_TAGGED constexpr std::span<std::int32_t const> of(index_t query) const {
        auto const first = offsets[static_cast<std::size_t>(query)];
        auto const last = offsets[static_cast<std::size_t>(query) + 1];
        return keys.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    }

    /// The arrays that are read: visit(array, what).
    template <class Visit>
    FOVEA_TAGGED constexpr void memory(Visit const& visit) const {
        visit(view<index_t const, 1>(offsets.data(), {static_cast<index_t>(offsets.size())}), "the graph's offsets");
        visit(view<std::int32_t const, 1>(keys.data(), {edges()}), "the graph's keys");
        visit(view<index_t const, 1>(numbers.data(), {static_cast<index_t>(numbers.size())}), "the graph's numbers");
    }

    /// Errors: graph_error when the rows do not fit `query_count` queries and `key_count` keys.
    FOVEA_TAGGED void check(index_t query_count, index_t key_count) const {
        if (queries() != query_count)
            raise_error(graph_error("graph: it has rows for ", detail::counted(queries(), "query"),
                                    ", the attention has ", query_count));
        if (query_count > 0 && (offsets.front() != 0 || offsets.back() != edges()))
            raise_error(graph_error("graph: offsets run from ", offsets.front(), " to ", offsets.back(),
                                    ", they must run from 0 to the number of edges, ", edges()));
        if (!numbers.empty() && numbers.size() != keys.size())
            raise_error(
                graph_error("graph: it has ", detail::counted(edges(), "edge"), " and numbers for ", numbers.size()));
        for (std::size_t e = 0; e < numbers.size(); ++e)
            if (numbers[e] < 0 || numbers[e] >= edges())
                raise_error(graph_error("graph: edge ", e, " has the number ", numbers[e], ", ",
                                        detail::there_are(edges(), "edge")));
        if (is_valid(key_count)) return;
        for (std::size_t i = 1; i < offsets.size(); ++i)
            if (offsets[i] < offsets[i - 1])
                raise_error(graph_error("graph: offset ", i, " is ", offsets[i], ", less than the one before it, ",
                                        offsets[i - 1]));
        for (std::size_t e = 0; e < keys.size(); ++e)
            if (keys[e] < 0 || keys[e] >= key_count)
                raise_error(graph_error("graph: edge ", e, " leads to key ", keys[e], ", ",
                                        detail::there_are(key_count, "key")));
    }

private:
    /// Whether offsets ascend and keys are in range: without a branch for each, since it is asked in every call.
    FOVEA_TAGGED constexpr bool is_valid(index_t key_count) const {
        bool valid = true;
        for (std::size_t i = 1; i < offsets.size(); ++i) valid &= offsets[i] >= offsets[i - 1];
        std::int32_t least = 0, greatest = -1;
        for (auto const key : keys) {
            least = std::min(least, key);
            greatest = std::max(greatest, key);
        }
        return valid && least >= 0 && greatest < key_count;
    }
};

/// graph: an owning graph_view, built from pairs. Its edges are numbered as they are given.
class graph {
public:
    /// One edge: `to` looks at `from`; in attention terms, query and key.
    struct edge {
        index_t to;
        index_t from;
    };

    /// Errors: graph_error for an edge between nodes that cannot be.
    FOVEA_TAGGED [[gnu::flatten]] graph(index_t queries, std::span<edge const> edges) {
        if (queries < 0) raise_error(graph_error("graph: it has ", queries, " queries, it must have 0 or more"));
        offsets_.resize(static_cast<std::size_t>(queries) + 1);
        for (auto const& e : edges) {
            if (e.to < 0 || e.to >= queries)
                raise_error(
                    graph_error("graph: an edge ends at query ", e.to, ", ", detail::there_are(queries, "query")));
            if (e.from < 0 || e.from > std::numeric_limits<std::int32_t>::max())
                raise_error(graph_error("graph: an edge begins at key ", e.from, ", keys are from 0 to ",
                                        std::numeric_limits<std::int32_t>::max()));
            ++offsets_[static_cast<std::size_t>(e.to) + 1];
        }
        for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
        keys_.resize(edges.size());
        auto next = offsets_;
        bool const sorted =
            std::is_sorted(edges.begin(), edges.end(), [](edge const& a, edge const& b) { return a.to < b.to; });
        numbers_.resize(sorted ? 0 : edges.size());
        for (std::size_t i = 0; i < edges.size(); ++i) {
            auto const place = static_cast<std::size_t>(next[static_cast<std::size_t>(edges[i].to)]++);
            keys_[place] = static_cast<std::int32_t>(edges[i].from);
            if (!sorted) numbers_[place] = static_cast<index_t>(i);
        }
    }

    FOVEA_TAGGED graph_view view() const { return {offsets_, keys_, numbers_}; }
    FOVEA_TAGGED operator graph_view() const { return view(); }

private:
    std::vector<index_t> offsets_;
    std::vector<std::int32_t> keys_;
    std::vector<index_t> numbers_;  // of the edges as they were given; empty where that is their order
};

}  // namespace fovea

#include <fovea/core/epilogue.hpp>
