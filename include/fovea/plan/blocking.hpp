// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blockings of a dense call, keys in lanes and queries in lanes: sizes of register tiles, panels and blocks, and
// which operands are multiplied as they are stored or in bfloat16 splits.
#pragma once

#include <fovea/core/half.hpp>
#include <fovea/core/index.hpp>
#include <fovea/plan/variants.hpp>
#include <fovea/simd/architecture.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace fovea::FOVEA_SET::plan {

/// True where elements of these types are multiplied as they are stored, two to a lane, and summed in T: then nothing
/// is converted. kernel/product/ has the products.
template <class T, class Arch, class... Elements>
inline constexpr bool multiplies_as_stored =
    arch::multiplies_bfloat16<Arch> && std::is_same_v<T, float> && (std::is_same_v<Elements, bfloat16> && ...);

/// The bfloat16 numbers, its parts, whose sum an element of this type is, whatever it is; 0 where it may be none.
template <class Element>
inline constexpr int parts_of = 0;
template <>
inline constexpr int parts_of<bfloat16> = 1;
template <>
inline constexpr int parts_of<std::int8_t> = 1;
template <>
inline constexpr int parts_of<std::uint8_t> = 1;
template <>
inline constexpr int parts_of<float16> = 2;
template <>
inline constexpr int parts_of<float> = 3;

/// Up to this many bfloat16 splits, split multiplication is faster than float32, so it is used without precision(...).
inline constexpr int most_parts_unasked = 2;

/// True where the matrix unit of an architecture multiplies elements of these types, summed in T: all of their parts,
/// or `Asked` of these where a specification asks for so many (spec/in_parts.hpp).
template <class T, class Arch, int Asked, class... Elements>
inline constexpr bool multiplies_in_matrix_unit =
    arch::has_matrix_unit<Arch> && std::is_same_v<T, float>
    && ((parts_of<Elements> > 0 && (Asked > 0 || parts_of<Elements> <= most_parts_unasked)) && ...);

/// How many parts stand for a number of each operand, and for a weight. A part is at most 2^-9 of the one before it, so
/// of the products of parts those are taken whose places, from 0 on, add up to less than `of_scores`, or `of_values`.
template <int Query = 1, int Key = 1, int Value = 1, int Weight = 1, int Of_scores = 2, int Of_values = 2>
struct parts_of_operands {
    static constexpr int query = Query, key = Key, value = Value, weight = Weight;
    static constexpr int of_scores = Of_scores, of_values = Of_values;
    static constexpr bool several_in_scores = query > 1 || key > 1, several_in_values = value > 1 || weight > 1;
};

/// The parts of a weight that keep the precision of a result.
template <class Result, int Asked = 0>
inline constexpr int weight_parts =
    std::min(std::is_same_v<Result, bfloat16> || std::is_same_v<Result, float16> ? parts_of<Result> : parts_of<float>,
             Asked > 0 ? Asked : parts_of<float>);

namespace detail {
template <class Element, int Most>
inline constexpr int parts_up_to = std::min(parts_of<Element>, Most);
}  // namespace detail

/// The parts that keep the precision of a result: a weight has as many as an element of it.
template <int Asked, class Query, class Key, class Value, class Result, int Weight = weight_parts<Result, Asked>,
          int Of_values = std::max(Weight, 2), int Of_scores = std::max(Asked, Of_values)>
using parts_for = parts_of_operands<detail::parts_up_to<Query, Of_scores>, detail::parts_up_to<Key, Of_scores>,
                                    detail::parts_up_to<Value, Of_values>, Weight, Of_scores, Of_values>;

/// The blocking of the work with a key in each lane: a register tile is `mr` queries by `nv` vectors of keys, a panel
/// is that many keys, a block is what stays in the L1 and L2 caches while it is used.
///
/// mr * nv sums, nv vectors of keys and one broadcast query fit in the registers of the architecture.
template <class T, class Arch>
struct key_lanes_blocking {
    using number = T;
    using architecture = Arch;
    using element = T;  // of packed keys and values
    using parts = parts_of_operands<>;
    static constexpr bool queries_in_lanes = false;
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));
    static constexpr int mr = compiled.register_heights && Arch::registers >= 32 ? 12 : 6, nv = 2;
    static constexpr int rows = mr;  // queries
    static constexpr index_t register_rows = rows;
    static constexpr index_t vectors = nv;  // of keys
    /// Heights of the register tiles, n = 0 ... last_height: those for few queries are 1, 4, 8, 12 where mr = 12.
    static constexpr int last_height = compiled.register_heights ? 3 : 0;
    static constexpr int height(int n) {
        return n == last_height ? rows : n == 0 ? 1 : n * rows / std::max(last_height, 1);
    }
    /// The smallest of at least `count` rows; the largest for more rows than it has.
    static constexpr int height_for(index_t count) {
        int n = 0;
        while (n < last_height && height(n) < count) ++n;
        return height(n);
    }
    /// Rows that are computed for `count` of them, and the states that a normalizer carries for a tile: one a row.
    static constexpr index_t width_for(index_t count) { return height_for(count); }
    /// The same with keys in place.
    static constexpr index_t width_in_place(index_t count) {
        return compiled.register_heights ? height_for(count) : count;
    }
    /// Numbers of a query, or pairs of elements, as it is packed.
    static constexpr index_t steps_for(index_t features) { return round_up(features, lanes); }
    /// Where a number of a query lies in a tile of `width` rows that is multiplied by packed keys.
    static constexpr index_t place_of_query(index_t feature, index_t row, index_t width) {
        return compiled.transposed_queries ? feature * width + row
                                           : (feature / lanes * width + row) * lanes + feature % lanes;
    }
    static constexpr index_t states = rows;
    /// Rows that are multiplied at a time with keys in place, by two keys.
    static constexpr int rows_in_place(index_t count) {
        return count == 1 || !compiled.register_heights ? 1 : height(1);
    }
    /// Rows for which keys in place are transposed in registers, if their sums have a fixed order: that of packed keys,
    /// which units for size multiply by queries of another layout.
    static constexpr int most_rows_in_order = compiled.register_heights ? height(2) : 0;
    /// Vectors of a value for `n` rows at a time: few rows leave registers for more vectors.
    static constexpr int value_vectors(int n) { return n == 1 ? rows / 2 : n <= rows / 3 ? rows / 3 : nv; }
    /// The most vectors of a value at a time, for few rows.
    static constexpr int most_value_vectors = compiled.register_heights ? 8 : 4;
    /// Rows at a time for `n` vectors of a value.
    static constexpr int rows_with(int n) { return !compiled.register_heights ? 1 : n >= 8 ? rows / 6 : rows / 3; }
    static constexpr index_t granule = lanes;  // keys: a mask leaves out whole granules
    static constexpr bool pads_keys = true;    // to whole granules
    static constexpr int granules_per_panel = nv;
    static constexpr index_t panel = granules_per_panel * granule;  // keys
    static constexpr index_t panels = 16;                           // panels of a block of keys
    static constexpr index_t block_keys = panels * panel;
    static constexpr index_t block_rows = index_t{16} * rows;

    /// Steps of a microkernel in which the register tiles of a call read one cache line of packed elements, a panel at
    /// each step: so fast they prefetch the next block while those of a block of rows share this one.
    static constexpr index_t steps_per_line(index_t tiles) {
        index_t const sharing = std::min(tiles, block_rows / register_rows);
        return std::max<index_t>(sharing * 64 / (panel * static_cast<index_t>(sizeof(T))), 1);
    }
};

/// The blocking of the work with a query in each lane: a register tile is `mr` keys, or features of a value, by up to
/// `nv` vectors of queries; keys and values are broadcast element by element.
template <class T, class Arch>
struct query_lanes_blocking {
    using number = T;
    using architecture = Arch;
    using element = T;  // of keys and values as they are read or copied
    using parts = parts_of_operands<>;
    static constexpr bool queries_in_lanes = true;
    static constexpr int lanes = Arch::vector_bytes / static_cast<int>(sizeof(T));  // queries
    static constexpr int mr = Arch::registers >= 32 ? 8 : 6, nv = Arch::registers >= 32 ? 3 : 2;
    /// Rows of a register tile whose rows are features, for `n` vectors: more for a single vector, whose sums would
    /// otherwise wait for the latency of each multiply-add.
    static constexpr int features_with(int n) { return n == 1 ? 2 * mr : mr; }
    /// Rows of the next smaller register tile: of 6 rows 4, whose 8 sums still cover the latency of a multiply-add, and
    /// which divide with 6 what powers of two are.
    static constexpr int fewer_than(int most) { return most % 3 == 0 ? most / 3 * 2 : most / 2; }
    static constexpr index_t register_rows = index_t{nv} * lanes;
    /// A tile has two register tiles where one holds few queries, since a gradient loads and stores sums of keys once a
    /// tile.
    static constexpr index_t vectors = register_rows < 24 ? 2 * nv : nv;
    static constexpr index_t rows = vectors * lanes;
    static constexpr index_t granule = mr;  // keys: a mask leaves out whole granules
    static constexpr int granules_per_panel = 2;
    static constexpr bool pads_keys = false;
    static constexpr bool reads_in_place(index_t, index_t) { return true; }  // rows of so many features
    static constexpr bool packs_values = false;
    static constexpr bool cuts_when_due = true;                     // less than a panel: driver/dense/score_tile.hpp
    static constexpr index_t panel = granules_per_panel * granule;  // keys
    static constexpr index_t panels = 128 / panel;                  // of a block of keys
    static constexpr index_t block_keys = panels * panel;
    /// They read a block of keys from the L2 cache, tile after tile, before the next takes its place.
    static constexpr index_t block_rows = 4 * rows;
    /// Sums that a register tile holds of so many queries.
    static constexpr index_t sums_for(index_t queries) { return mr * std::min<index_t>(ceil_div(queries, lanes), nv); }
    /// Rows that are computed for `count` of them, and the states that a normalizer carries for a tile: one a vector.
    static constexpr index_t width_for(index_t count) { return round_up(count, lanes); }
    /// Numbers of a query, or pairs of elements, as it is packed.
    static constexpr index_t steps_for(index_t features) { return round_up(features, lanes); }
    static constexpr index_t states = vectors;

    /// Steps in which register tiles read a cache line of elements that are broadcast, `mr` at each step.
    static constexpr index_t steps_per_line(index_t tiles) {
        return std::min(tiles, block_rows / register_rows)
             * std::max<index_t>(64 / (mr * static_cast<index_t>(sizeof(T))), 1);
    }

    /// True where queries in lanes fill vectors at least three quarters as well as features in lanes, the other choice.
    static constexpr bool suits(index_t queries, index_t features) {
        return 4 * queries * ceil_div(features, lanes) >= 3 * features;
    }
    /// The heads of a group whose queries share a tile: all where the queries of one head do not fill it, so that each
    /// element of a key is broadcast for more queries. Where the rest of the score differs by query or head
    /// (`differs`), it costs more in lanes of several heads, so they share only where one does not fill its vectors.
    /// Positions of keys must fit 32 bits, since lanes hold them.
    static constexpr index_t sharing(index_t queries, index_t group, index_t keys, bool differs) {
        bool const fills = differs ? suits(queries, lanes) : queries >= rows;
        return fills || keys > std::numeric_limits<std::int32_t>::max() ? 1 : group;
    }
};

/// The same for gradients: tiles have twice as many queries, since the sums of keys are loaded and stored once a tile.
template <class T, class Arch>
struct query_lanes_gradient_blocking : query_lanes_blocking<T, Arch> {
    using base = query_lanes_blocking<T, Arch>;
    static constexpr index_t vectors = 2 * base::vectors, rows = vectors * base::lanes;
    static constexpr index_t block_rows = 4 * rows;
    static constexpr index_t states = vectors;
};

/// The same with the products of a matrix unit, whose tiles are 16 rows of 16 sums or of 32 elements of type `Element`:
/// 32 keys, or features of a value, by 32 queries at a time. Keys are read in place where their features fill tiles,
/// at whole cache lines and in runs of whole granules; values are transposed, block by block. Numbers of operands, and
/// weights, are sums of so many elements.
template <class T, class Arch, class Element, class Parts>
struct matrix_unit_blocking : query_lanes_blocking<T, Arch> {
    using base = query_lanes_blocking<T, Arch>;
    using element = Element;
    using parts = Parts;
    static constexpr index_t tile_elements = 64 / static_cast<index_t>(sizeof(Element));
    static constexpr int mr = 32, nv = 2;
    static constexpr index_t vectors = nv, rows = vectors * base::lanes;
    static constexpr index_t granule = 32;
    static constexpr int granules_per_panel = 1;
    static constexpr index_t panel = granule, panels = 8, block_keys = panels * panel;
    static constexpr index_t block_rows = 8 * rows;
    static constexpr index_t states = vectors;
    /// A row of a tile that crosses a cache line takes four times as long to load.
    static constexpr bool reads_in_place(index_t features, index_t alignment) {
        return features % tile_elements == 0 && alignment % cache_line == 0;
    }
    static constexpr bool packs_values = true;
    /// Sums are rounded where pieces of a run end, so what is cut must not depend on the tiles before.
    static constexpr bool cuts_when_due = false;
    static constexpr index_t steps_for(index_t features) {
        return Parts::query * round_up(features, tile_elements) / 2;
    }

    /// Two lines are prefetched beside each four products of tiles.
    static constexpr index_t steps_per_line(index_t) { return 1; }
};

/// The same for gradients: a tile is so many queries that the sums of keys, which are loaded and stored once for each
/// of them, take 4 products of tiles at a time; scores and what goes back to them, 128 KB each, lie in the L2 cache.
template <class T, class Arch, class Element, class Parts>
struct matrix_unit_gradient_blocking : matrix_unit_blocking<T, Arch, Element, Parts> {
    using base = matrix_unit_blocking<T, Arch, Element, Parts>;
    static constexpr index_t vectors = index_t{4} * base::nv, rows = vectors * base::lanes;
    static constexpr index_t block_rows = 2 * rows;
    static constexpr index_t states = vectors;
};

}  // namespace fovea::FOVEA_SET::plan
