// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over queries for keys, from one tile of queries: dV += P^T dO, and dB += dS^T A.
#pragma once

#include <fovea/driver/call/products.hpp>
#include <fovea/driver/dense/block_functions.hpp>
#include <fovea/driver/dense/query_lanes_products.hpp>
#include <fovea/driver/dense/sub_tiles.hpp>
#include <fovea/plan/blocking.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::driver {

/// Rows of a tile that are added up for each key: dO, or A times the factors of its rows.
template <class T>
struct added_rows {
    index_t count, features, width;  // those that exist; whole vectors
    T* numbers;                      // (count, width)
    T* pairs = nullptr;              // of rows without the factors, for a product that packs them
    T const* factors = nullptr;
    index_t parts = 1;  // of pairs
};

/// Rows that are not packed.
struct rows_as_numbers {
    static constexpr bool packs = false;
    static index_t pairs(index_t) { return 0; }
    template <class>
    static constexpr index_t parts = 1;
    rows_as_numbers(arena&) {}
};

/// Adds rows, weighted by a tile of scores, to the sums of its keys: (keys, width). With keys in lanes.
template <class Blocking>
class key_sums : public rows_as_numbers {
    using T = typename Blocking::number;
    using product = packed_products<kernel::number_product<T, typename Blocking::architecture>>;

public:
    using rows_as_numbers::rows_as_numbers;

    void add(score_block<Blocking> const& weights, added_rows<T> const& rows, T const*, T* sums, next_lines&) const {
        product::accumulate_transposed(
            {{{weights.scores, {}, weights.stride}, rows.count, {rows.numbers, rows.width}, sums, rows.width, nullptr},
             rows.width,
             weights.count,
             Blocking::rows});
    }
};

/// With queries in lanes: as many keys at a time as a register tile has rows. `ones` has that many.
template <class Blocking>
    requires(Blocking::queries_in_lanes && !Blocking::packs_values)
class key_sums<Blocking> : public rows_as_numbers {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using product = packed_products<kernel::number_product<T, Arch>>;
    using tile = plan::key_lanes_blocking<T, Arch>;

public:
    using rows_as_numbers::rows_as_numbers;

    void add(score_block<Blocking> const& weights, added_rows<T> const& rows, T const* ones, T* sums,
             next_lines& next) const {
        for (auto const& [vectors, granules] : *weights.pieces) {
            auto const part = weights.part_of(granules);
            index_t const first = vectors.first * Blocking::lanes,
                          count = std::min(vectors.last * Blocking::lanes, rows.count) - first;
            for (index_t k = 0; k < part.count;) {
                int n = tile::last_height;
                while (tile::height(n) > part.count - k) --n;
                product::accumulate({{{part.scores + k * part.stride + first, part.stride, {}},
                                      count,
                                      {rows.numbers + first * rows.width, rows.width},
                                      sums + (part.first - weights.first + k) * rows.width,
                                      rows.width,
                                      ones},
                                     rows.width,
                                     tile::height(n),
                                     tile::height(n)},
                                    next.queue());
                k += tile::height(n);
            }
        }
    }
};

/// By a matrix unit, whose weights are rounded in memory of their own.
template <class Blocking>
    requires(Blocking::queries_in_lanes && Blocking::packs_values)
class key_sums<Blocking> {
    using T = typename Blocking::number;
    using element = typename Blocking::element;
    using product = kernel::matrix_unit_key_sums<T, typename Blocking::architecture, typename Blocking::parts>;

public:
    static constexpr bool packs = true;
    key_sums(arena& memory)
        : rounded_(memory.take<element>(product::scratch_elements(Blocking::block_keys, Blocking::rows))) {}

    /// The numbers of a part of the pairs of all rows of a tile, and what packs them: row(r) is one as it is stored.
    static index_t pairs(index_t width) { return round_up(Blocking::rows, 2 * Blocking::lanes) / 2 * width; }
    template <class Element>
    static constexpr index_t parts = lane_products_of<Blocking>::template query_planes<Element>;
    template <class Element>
    static void pack(strided_rows<Element const> const& row, added_rows<T> const& to) {
        index_t const padded = round_up(to.count, 2 * Blocking::lanes);
        if constexpr (std::is_same_v<Element, element>)
            product::pack_rows(row, to.count, padded, to.features, to.pairs, to.width);
        else
            product::template pack_numbers<parts<Element>>(to.numbers, to.count, padded, to.pairs, to.width,
                                                           pairs(to.width));
    }

    void add(score_block<Blocking> const& weights, added_rows<T> const& rows, T const*, T* sums, next_lines&) const {
        for (auto const& [vectors, granules] : *weights.pieces) {
            auto const part = weights.part_of(granules);
            product::add({.keys = part.count,
                          .features = rows.features,
                          .first_query = vectors.first * Blocking::lanes,
                          .last_query = vectors.last * Blocking::lanes,
                          .queries = rows.count,
                          .weights = part.scores,
                          .width = part.stride,
                          .factors = rows.factors,
                          .rows = rows.pairs,
                          .row_width = rows.width,
                          .row_parts = rows.parts,
                          .row_plane = pairs(rows.width),
                          .sums = sums + (part.first - weights.first) * rows.width},
                         rounded_);
        }
    }

private:
    element* rounded_;  // (parts, keys of a block, queries of a tile)
};

}  // namespace fovea::FOVEA_SET::driver
