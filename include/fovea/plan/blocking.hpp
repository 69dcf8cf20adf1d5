// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blockings of a dense call, keys in lanes and queries in lanes: sizes of register tiles, panels and blocks.
#pragma once

#include <fovea/core/index.hpp>
#include <fovea/plan/product.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace fovea::FOVEA_SET::plan {

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
    static constexpr int mr = Arch::registers >= 32 ? 12 : 6, nv = 2;
    static constexpr int rows = mr;  // queries
    static constexpr index_t register_rows = rows;
    static constexpr index_t vectors = nv;  // of keys
    static constexpr int last_height = 3;
    /// Heights of the register tiles for few queries, n = 0 ... last_height: 1, 4, 8, 12 where mr = 12.
    static constexpr int height(int n) { return n == 0 ? 1 : n * rows / last_height; }
    /// The smallest of at least `count` rows; the largest for more rows than it has.
    static constexpr int height_for(index_t count) {
        int n = 0;
        while (n < last_height && height(n) < count) ++n;
        return height(n);
    }
    /// Rows that are computed for `count` of them, and the states that a normalizer carries for a tile: one a row.
    static constexpr index_t width_for(index_t count) { return height_for(count); }
    /// Numbers of a query, or pairs of elements, as it is packed.
    static constexpr index_t steps_for(index_t features) { return round_up(features, lanes); }
    static constexpr index_t states = rows;
    /// Rows that are multiplied at a time with keys in place, by two keys.
    static constexpr int rows_in_place(index_t count) { return count == 1 ? 1 : height(1); }
    /// Vectors of a value for `n` rows at a time: few rows leave registers for more vectors.
    static constexpr int value_vectors(int n) { return n == 1 ? rows / 2 : n <= rows / 3 ? rows / 3 : nv; }
    /// Rows at a time for `n` vectors of a value.
    static constexpr int rows_with(int n) { return n >= 8 ? rows / 6 : rows / 3; }
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
    static constexpr bool pipelines = arch::multiplies_beside_vectors<Arch>;
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
    static constexpr bool pipelines = false;
    static constexpr index_t vectors = index_t{4} * base::nv, rows = vectors * base::lanes;
    static constexpr index_t block_rows = 2 * rows;
    static constexpr index_t states = vectors;
};

/// Whether a blocking multiplies scores of a tile while vectors make weights of those of the tile before.
template <class Blocking>
concept pipelined = requires { requires Blocking::pipelines; };

}  // namespace fovea::FOVEA_SET::plan
