// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradients of sums for each pair by way of their factors: summed for each query and each key, then back to
// features.
#pragma once

#include <fovea/driver/dense/dense_context.hpp>
#include <fovea/driver/dense/pairwise.hpp>
#include <fovea/driver/dense/stored_keys.hpp>
#include <fovea/expr/backpropagate.hpp>
#include <fovea/kernel/backward/scatter.hpp>
#include <fovea/kernel/backward/score_derivative.hpp>
#include <fovea/kernel/environment.hpp>
#include <fovea/kernel/lane_groups.hpp>
#include <fovea/kernel/product/accumulate.hpp>
#include <fovea/plan/backward/score_gradient.hpp>
#include <fovea/plan/factor.hpp>
#include <fovea/plan/score_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace fovea::FOVEA_SET::kernel {

/// The amount of a body for each of its features: the same for all, or one for each.
template <class T, class Arch>
struct one_amount {
    T amount;
    FOVEA_INLINE pack<T, Arch> operator()(index_t, index_t) const { return {amount}; }
};
template <class T, class Arch>
struct amount_of_each {
    T const* amounts;
    FOVEA_INLINE pack<T, Arch> operator()(index_t feature, index_t left) const {
        return load_as<T, Arch>(amounts + feature, left);
    }
};

/// Where amounts go: to the sums of the features of a query and of a key, and to tables, as `Kinds` says.
template <class T, class Arch, class Kinds, class Tables>
struct feature_cotangents {
    using cotangent_kinds = Kinds;
    using vector = pack<T, Arch>;
    T *query, *key;  // of the first feature of the sum
    Tables const& tables;

    template <class Names, class Name>
    FOVEA_INLINE void name(Names const& at, vector const& amount, Name) const {
        add_to<T, Arch>((std::is_same_v<Name, q_t> ? query : key) + at.offset, amount, at.count);
    }
    template <class Names, class Amount, class Element, int Rank, class... Index>
    FOVEA_INLINE void table([[maybe_unused]] Names const& at, Amount const& amount,
                            view<Element const, Rank> const& table, Index const&... index) const {
        if constexpr (sizeof...(Index) == Rank) tables.add(table, amount, index...);
        else tables.add_features(table, amount, at.offset, at.count, index...);
    }
    template <class Names, class Body, class Over>
    void sum(Names const& at, T amount, Body const& body, Over const& over) const {
        auto const [first, count] = over.of(at.query_features, at.key_features);
        feature_cotangents const here{query + first, key + first, tables};
        here.backpropagate_features(body, static_cast<typename Names::base const&>(at), at.query + first,
                                    at.key + first, count, one_amount<T, Arch>{amount});
    }

    /// A body back to `count` features of a query and a key, which begin here, as the sums do.
    template <class Body, class Base, class Q, class K, class Amounts>
    FOVEA_INLINE void backpropagate_features(Body const& body, Base const& base, Q const* from_query, K const* from_key,
                                             index_t count, Amounts const& amounts) const {
        for (index_t c = 0; c < count; c += vector::lanes) {
            feature_environment<T, Arch, Q, K, Base> const here{base, from_query, from_key, c, count - c};
            auto amount = amounts(c, count - c);
            if (count - c < vector::lanes) amount = select(vector::iota() < vector(count - c), amount, vector(T{0}));
            backpropagate(body, here, amount, *this);
        }
    }
};

/// Takes the amounts of the factors of a body.
template <class Vector>
struct factor_cotangents {
    struct cotangent_kinds {
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
[[gnu::noinline]] void pairwise_gradient(Body const& body, row_coordinates const* rows, First first_key,
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
                    factor_cotangents<vector> const cotangents{of_query, of_keys[v]};
                    backpropagate_in_lanes<T, Arch, false>(body, here, amount[r][v], cotangents);
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

namespace fovea::FOVEA_SET::driver {

/// A sum for each pair is sum_f b(x_f, y_f), with factors x of the query and y of the key that the forward pass has
/// prepared (driver/dense/pair_sums.hpp). A tile of amounts gives
///
///     dx_f = sum over keys of amount db/dx,   dy_f = sum over queries of amount db/dy
///
/// with keys in lanes, and x and y go back to features and tables once for a row, and once for a key. For terms of
/// which nothing but factors is reached, with factors whose reciprocals have finite squares.
template <class Call, class Blocking, class Tables>
class factor_gradient {
    using T = typename Blocking::number;
    using Arch = typename Blocking::architecture;
    using context_type = context_of<Call, Blocking>;
    using parts = typename Call::parts;
    using pairs_type = decltype(parts::pairs);
    using names_of_index = kernel::index_environment<T, Arch, index_t>;
    using sums = kernel::query_factor_sums<T, Arch, Blocking::rows>;
    template <class Pair>
    static constexpr bool takes =
        !Blocking::queries_in_lanes && plan::goes_back_by_factors<std::remove_cvref_t<Pair>, Tables>;

public:
    /// Planes of the factors of queries and of keys, 0 where no term goes back by them.
    static constexpr bool any =
        plan::hana::unpack(pairs_type{}, [](auto const&... pair) { return (takes<decltype(pair)> || ...); });
    static constexpr index_t of_queries = any ? plan::query_factors_of<pairs_type> : 0,
                             of_keys = any ? plan::key_factors_of<pairs_type> : 0;

    /// The numbers of a plane: of the rows of a tile, and of all keys, as they are packed.
    static index_t of_tile(context_type const& context) { return sums::size(context.summed.most); }
    static index_t of_head(context_type const& context) {
        return round_up(context.keys, Blocking::panel) * context.summed.most;
    }

    /// True where pairs of the rows of a tile with the keys of a block go back by factors.
    static bool takes_pairs(context_type const& context, tile_rows<Blocking> const& rows,
                            head_keys<Blocking> const& keys, index_t block) {
        return rows.factorable && keys.factorable(block) && !context.operands.exact;
    }

    /// Adds what some pairs of a block give to the factors of term `Pair`, the nth; false where it is not for factors.
    /// d_queries and d_keys are planes of all factors.
    template <class Pair>
    static bool add(context_type const& context, tile_rows<Blocking> const& rows, head_keys<Blocking> const& keys,
                    index_t block, score_block<Blocking> const& amounts, Pair const& pair, index_t nth, T* d_queries,
                    T* d_keys) {
        if constexpr (!takes<Pair>) {
            return false;
        } else {
            index_t const within = amounts.first - keys.first(block), features = context.span_of(pair).count;
            if (within % Blocking::lanes != 0
                || kernel::mostly_zero<T, Arch>(amounts.scores, amounts.stride, rows.count, amounts.count))
                return false;
            auto const [query_plane, key_plane] = planes_before(context, nth);
            kernel::pair_factors<T> from{queries(context, rows, query_plane), Blocking::rows * context.summed.most,
                                         keys.keys(block, first_plane + key_plane),
                                         Blocking::block_keys * context.summed.most, features};
            T* const of_block = d_keys + key_plane * of_head(context) + keys.first(block) * features;
            for (index_t r = 0; r < rows.count; r += sums::rows) {
                index_t k = 0;
                auto const add_keys = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
                    using kind = std::remove_cvref_t<decltype(pair.factors)>;
                    kernel::pairwise_gradient<sums::rows, Vectors, Blocking::panel,
                                              static_cast<std::size_t>(plan::count_of<decltype(kind::queries)>),
                                              static_cast<std::size_t>(plan::count_of<decltype(kind::keys)>), sums, T,
                                              Arch>(
                        pair.factors.body, rows.coordinates.data() + r, kernel::positions<T, Arch>{amounts.first + k},
                        from, within + k,
                        {amounts.scores + r * amounts.stride + k, amounts.stride, rows.count - r, amounts.count - k,
                         d_queries + query_plane * of_tile(context) + sums::place(r, 0, features), of_tile(context),
                         of_block, of_head(context)});
                    k += Vectors * Blocking::lanes;
                };
                while (amounts.count - k > 3 * Blocking::lanes) add_keys(std::integral_constant<int, 4>());
                while (amounts.count > k) add_keys(std::integral_constant<int, 1>());
                from.queries += sums::rows * features;
            }
            return true;
        }
    }

    /// The sums of a row, or of a key, back to features and tables: to(first feature) are leaves from there on.
    /// `amounts` has room for a row.
    template <class To>
    static void finish_row(context_type const& context, kernel::row_coordinates const& coordinates, index_t r,
                           T const* d_queries, T* amounts, To const& to) {
        auto const* const features =
            context.operands.query.place(coordinates.batch, coordinates.head, coordinates.q_idx, 0);
        for_each_pair(context, [&](auto const& pair, index_t plane, index_t) {
            auto const [first, count] = context.span_of(pair);
            plan::for_each_part(pair.factors.queries, [&, from = first, n = count](auto const& factor) {
                for (index_t c = 0; c < n; ++c) amounts[c] = d_queries[plane * of_tile(context) + sums::place(r, c, n)];
                to(from).backpropagate_features(factor, names_of_index{coordinates, 0}, features + from,
                                                features + from, n, kernel::amount_of_each<T, Arch>{amounts});
                ++plane;
            });
        });
    }
    template <class Element, class To>
    static void finish_key(context_type const& context, kernel::row_coordinates const& coordinates, index_t key,
                           Element const* features, T const* d_keys, T* amounts, To const& to) {
        for_each_pair(context, [&](auto const& pair, index_t, index_t plane) {
            auto const [first, count] = context.span_of(pair);
            plan::for_each_part(pair.factors.keys, [&, from = first, n = count](auto const& factor) {
                for (index_t c = 0; c < n; ++c)
                    amounts[c] = d_keys[plane * of_head(context) + key / Blocking::panel * Blocking::panel * n
                                        + c * Blocking::panel + key % Blocking::panel];
                to(from).backpropagate_features(factor, names_of_index{coordinates, key}, features + from,
                                                features + from, n, kernel::amount_of_each<T, Arch>{amounts});
                ++plane;
            });
        });
    }

private:
    static constexpr index_t first_plane = plan::count_of<decltype(parts::products)>;  // of the keys of a block

    static T* queries(context_type const& context, tile_rows<Blocking> const& rows, index_t plane) {
        return rows.pair_factors + plane * Blocking::rows * context.summed.most;
    }
    /// Calls f(pair, query plane, key plane) for the terms that go back by factors.
    template <class F>
    static void for_each_pair(context_type const& context, F const& f) {
        index_t of_query = 0, of_key = 0;
        plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
            if constexpr (takes<decltype(pair)>) f(pair, of_query, of_key);
            of_query += plan::count_of<decltype(pair.factors.queries)>;
            of_key += plan::count_of<decltype(pair.factors.keys)>;
        });
    }
    struct planes {
        index_t query = 0, key = 0;
    };
    static planes planes_before(context_type const& context, index_t nth) {
        planes before;
        plan::for_each_part(context.spec.score.parts.pairs, [&](auto const& pair) {
            if (nth-- <= 0) return;
            before.query += plan::count_of<decltype(pair.factors.queries)>;
            before.key += plan::count_of<decltype(pair.factors.keys)>;
        });
        return before;
    }
};

}  // namespace fovea::FOVEA_SET::driver
