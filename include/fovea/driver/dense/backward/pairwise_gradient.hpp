// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the amounts of sums over features for pairs back to the factors of their queries and keys: keys in lanes.
#pragma once

#include <fovea/driver/dense/pairwise.hpp>
#include <fovea/kernel/backward/score_derivative.hpp>
#include <fovea/kernel/lane_groups.hpp>
#include <fovea/plan/factor_gradient.hpp>

#include <algorithm>

namespace fovea::FOVEA_SET::kernel {

/// Takes the amounts of the factors of a body.
template <class Vector>
struct factor_leaves {
    struct leaf_kinds {
        template <class E>
        static constexpr bool takes = plan::is_factor<E>;
    };
    Vector *queries, *keys;

    template <class Names, std::size_t I>
    FOVEA_INLINE void name(Names const&, Vector const& amount, plan::query_factor<I>) const {
        queries[I] = queries[I] + amount;
    }
    template <class Names, std::size_t I>
    FOVEA_INLINE void name(Names const&, Vector const& amount, plan::key_factor<I>) const {
        keys[I] = keys[I] + amount;
    }
};

/// How the amounts of the factors of queries are summed: some rows at a time, of which as many features fill a vector.
template <class T, class Arch, index_t TileRows>
struct query_factor_sums {
    static constexpr index_t lanes = pack<T, Arch>::lanes;
    static constexpr int rows = TileRows % 4 == 0 && lanes % 4 == 0 ? 4 : 2;
    static constexpr index_t step = lanes / rows;  // features

    /// The numbers of one factor, and where that of a row and a feature is.
    static constexpr index_t size(index_t features) { return round_up(TileRows, rows) * round_up(features, step); }
    static constexpr index_t place(index_t row, index_t feature, index_t features) {
        return row / rows * rows * round_up(features, step) + feature * rows + row % rows;
    }
};

/// The amounts of pairs, and where those of their factors are added up.
template <class T>
struct factor_amounts {
    T const* amounts;  // (rows, keys)
    index_t stride;
    index_t rows, keys;  // that there are
    T* queries;          // as query_factor_sums has them
    index_t query_stride;
    T* keys_of_block;    // as the factors of keys
    index_t key_stride;  // from factor to factor
};

/// pairwise_gradient: the sums of pairwise, back to the factors of a few queries and of keys [first, first + Vectors *
/// lanes) of a block, in panels of `Panel`:
///
///     queries[i][r][f] += sum_c amounts[r][c] d body / d query factor i,   the same for keys and sum_r
template <int Rows, int Vectors, index_t Panel, std::size_t Queries, std::size_t Keys, class Sums, class T, class Arch,
          class Body, class First>
[[gnu::noinline]] void pairwise_gradient(Body const& body, row_facts const* rows, First first_key,
                                         pair_factors<T> const& from, index_t first, factor_amounts<T> const& of) {
    using vector = pack<T, Arch>;
    using base = index_environment<T, Arch, First>;
    constexpr index_t lanes = vector::lanes;
    c_array_2d<vector, Rows, Vectors> amount;
    c_array<index_t, Vectors> place;
    c_array<index_t, Rows> row;
    unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
        index_t const key = first + v * lanes;
        place[v] = key / Panel * Panel * from.features + key % Panel;
        unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
            amount[r][v] = r < of.rows ? load_as<T, Arch>(of.amounts + r * of.stride + v * lanes, of.keys - v * lanes)
                                       : vector(T{0});
        });
    });
    unrolled<Rows>([&](auto r) FOVEA_LAMBDA { row[r] = std::min<index_t>(r, of.rows - 1); });
    for (index_t f = 0; f < from.features; f += Sums::step) {
        vector sums[Queries][static_cast<std::size_t>(lanes)];
        for (index_t i = 0; i < Sums::step; ++i) {
            index_t const feature = f + i;
            auto const sum_at = [&](std::size_t q, index_t r)
                                    FOVEA_LAMBDA -> vector& { return sums[q][static_cast<std::size_t>(i * Rows + r)]; };
            if (feature >= from.features) {
                for (std::size_t q = 0; q < Queries; ++q)
                    for (index_t r = 0; r < Rows; ++r) sum_at(q, r) = vector(T{0});
                continue;
            }
            vector of_keys[static_cast<std::size_t>(Vectors)][Keys];
            auto const key_sum = [&](auto v, std::size_t k) FOVEA_LAMBDA {
                return of.keys_of_block + static_cast<index_t>(k) * of.key_stride + place[v] + feature * Panel;
            };
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                for (std::size_t k = 0; k < Keys; ++k) of_keys[v][k] = vector::load(key_sum(v, k));
            });
            unrolled<Rows>([&](auto r) FOVEA_LAMBDA {
                vector of_query[Queries];
                for (auto& each : of_query) each = vector(T{0});
                unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                    pair_feature_environment<T, Arch, base> const here{base{rows[row[r]], first_key + v * lanes},
                                                                       from.queries + row[r] * from.features + feature,
                                                                       from.query_stride,
                                                                       from.keys + place[v] + feature * Panel,
                                                                       from.key_stride,
                                                                       feature};
                    factor_leaves<vector> const leaves{of_query, of_keys[v]};
                    backpropagate_in_lanes<T, Arch, false>(body, here, amount[r][v], leaves);
                });
                for (std::size_t q = 0; q < Queries; ++q) sum_at(q, r) = of_query[q];
            });
            unrolled<Vectors>([&](auto v) FOVEA_LAMBDA {
                for (std::size_t k = 0; k < Keys; ++k) of_keys[v][k].store(key_sum(v, k));
            });
        }
        for (std::size_t q = 0; q < Queries; ++q) {
            T* const sum = of.queries + static_cast<index_t>(q) * of.query_stride + f * Rows;
            (vector::load(sum) + lane_groups_of<T, Arch>::sums(sums[q])).store(sum);
        }
    }
}

}  // namespace fovea::FOVEA_SET::kernel
