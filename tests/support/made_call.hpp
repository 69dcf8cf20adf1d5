// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that are made up for the parts of the dense engine: sizes, a table of the pairs that take part, and no engine.
#pragma once

#include <fovea/driver/call/operands.hpp>
#include <fovea/driver/dense/dense_rows.hpp>
#include <fovea/testing/random.hpp>

#include <tuple>
#include <vector>

namespace made {

using namespace fovea;

/// Blocks small enough for every pair to be looked at; `Pads` and `Granules` are what the two traversals differ in.
template <bool Pads, int Granules>
struct small_blocks {
    static constexpr int lanes = 4, mr = 2, nv = 3;
    static constexpr index_t vectors = nv, rows = 3, granule = 2, panels = 4;
    static constexpr int granules_per_panel = Granules;
    static constexpr bool pads_keys = Pads;
    static constexpr index_t panel = granules_per_panel * granule, block_keys = panels * panel, block_rows = 2 * rows;
};
using block_shapes =
    std::tuple<small_blocks<true, 2>, small_blocks<false, 2>, small_blocks<true, 3>,
               plan::key_lanes_blocking<float, arch::best>, plan::query_lanes_blocking<float, arch::best>>;

using float_operands = driver::operands<float, view<float const, 4>, view<float const, 4>, float>;

/// Queries, keys and values of one batch element, with a result.
struct arrays {
    tensor<float, 4> query, key, value, result;

    arrays(testing::dice& from, index_t queries, index_t keys, index_t features, index_t value_features)
        : query(testing::random_tensor<float>(from, extents_t<4>{1, 1, queries, features})),
          key(testing::random_tensor<float>(from, extents_t<4>{1, 1, keys, features})),
          value(testing::random_tensor<float>(from, extents_t<4>{1, 1, keys, value_features})),
          result({1, 1, queries, value_features}) {}

    float_operands operands() {
        return {view<float const, 4>(query), view<float const, 4>(key), view<float const, 4>(value), result.view()};
    }
};

/// Which pairs of one head take part.
struct pairs {
    index_t queries, keys;
    std::vector<bool> seen;

    pairs(testing::dice& from, index_t q, index_t k, double density)
        : queries(q), keys(k), seen(static_cast<std::size_t>(q * k)) {
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = from.chance(density);
    }
    /// Each query sees the keys of a window.
    pairs(index_t q, index_t k, index_t before, index_t after) : pairs(no_dice(), q, k, 0) {
        for (index_t i = 0; i < q; ++i)
            for (index_t j = std::max<index_t>(i - before, 0); j < std::min(i + after + 1, k); ++j)
                seen[static_cast<std::size_t>(i * keys + j)] = true;
    }
    bool operator()(index_t query, index_t key) const { return seen[static_cast<std::size_t>(query * keys + key)]; }

    /// Whether any of these queries [first, last) sees any of these keys.
    bool any(index_t first, index_t last, index_t first_key, index_t last_key) const {
        for (index_t i = first; i < last; ++i)
            for (index_t j = first_key; j < last_key; ++j)
                if ((*this)(i, j)) return true;
        return false;
    }
    bool all(index_t first, index_t last, index_t first_key, index_t last_key) const {
        for (index_t i = first; i < last; ++i)
            for (index_t j = first_key; j < last_key; ++j)
                if (!(*this)(i, j)) return false;
        return true;
    }

private:
    static testing::dice& no_dice() {
        static testing::dice none(0);
        return none;
    }
};

/// A call with a mask that is known exactly, or of which nothing is known.
struct masked_call : driver::dense_rows {
    pairs const& mask;
    bool knows;

    masked_call(plan::call_plan const& plan, float_operands const& all, pairs const& seen, bool known = true)
        : dense_rows(plan, all, coverage_of), mask(seen), knows(known) {}

private:
    static truth coverage_of(driver::dense_rows const& all, box const& rows, interval<index_t> of_keys) {
        auto const& call = static_cast<masked_call const&>(all);
        if (!call.knows) return {true, true};
        index_t const first = rows.q_idx.lo, last = rows.q_idx.hi + 1;
        return {call.mask.any(first, last, of_keys.lo, of_keys.hi + 1),
                !call.mask.all(first, last, of_keys.lo, of_keys.hi + 1)};
    }
};

/// Calls f(pairs) for masks of every kind: empty, nearly empty, windows, nearly full and full, of odd sizes.
template <class Blocking, class F>
void for_masks(F const& f) {
    testing::dice random(11);
    for (index_t queries : {index_t{1}, index_t{Blocking::rows}, 2 * Blocking::block_rows + 1})
        for (index_t keys :
             {index_t{1}, index_t{Blocking::block_keys}, 2 * Blocking::block_keys + Blocking::panel + 1}) {
            for (double density : {0.0, 0.01, 0.5, 0.99, 1.0}) f(pairs(random, queries, keys, density));
            f(pairs(queries, keys, queries, 0));
            f(pairs(queries, keys, Blocking::granule, Blocking::panel));
        }
}

/// Some rows as a tile has them.
struct row_span {
    index_t first, last;
    bool panels = false;
    box span(driver::dense_rows const& call) const { return call.span({0, 0}, first, last); }
    bool whole_panels() const { return panels; }
};

}  // namespace made
